"""The two encodings of Terraform's plugin protocol: protocol buffers around, msgpack values within.

A message is written as bytes by joining fields, and read as a mapping from field number to the values that occurred.
That is all a provider double needs of protocol buffers; the field numbers are those of HashiCorp's `tfplugin5.proto`.
"""

from __future__ import annotations

import json
from typing import Any

import msgpack

UNKNOWN = msgpack.ExtType(0, b"\x00")
"""How Terraform writes a value that is known only after apply."""


def varint(number: int) -> bytes:
    """Base 128, least significant group first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: bytes | str | int | bool | None) -> bytes:
    """One field; None, zero and False are left out, as protocol buffers do."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(int(value)) if value else b""


def read(message: bytes) -> dict[int, list[Any]]:
    """Field number → the values that occurred: bytes, or int for a number."""
    found: dict[int, list[Any]] = {}
    position = 0

    def number() -> int:
        nonlocal position
        result = shift = 0
        while True:
            byte = message[position]
            position += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    while position < len(message):
        key = number()
        value: Any = number()
        if key & 7 == 2:
            position += value
            value = message[position - value : position]
        found.setdefault(key >> 3, []).append(value)
    return found


def value_of(dynamic: bytes) -> Any:
    """What a `DynamicValue` holds, written as msgpack or JSON."""
    fields = read(dynamic)
    return msgpack.unpackb(fields[1][0], raw=False, strict_map_key=False) if 1 in fields else json.loads(fields[2][0])


def dynamic_of(value: Any) -> bytes:
    """A `DynamicValue` in msgpack."""
    return field(1, msgpack.packb(value))
