"""A test double of the Google Terraform provider: it knows the schema and nothing else.

Terraform is told by `TF_REATTACH_PROVIDERS` that the provider already runs, so nothing is downloaded and no lock file
is written. With it the real terraform binary runs `validate`, `test` with mock providers, and `plan` for resources
that do not exist yet. It notices unknown and missing arguments, wrong types, too many blocks, values outside an
enumeration and bad references; it cannot notice rules across fields, or those of Google's servers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from tests.terraform.double.extract import SCHEMA
from tests.terraform.double.wire import UNKNOWN, dynamic_of, field, read, value_of

ADDRESSES = ("registry.terraform.io/hashicorp/google", "registry.terraform.io/hashicorp/google-beta")
NESTING = {"single": 1, "list": 2, "set": 3}
MESSAGE_LIMIT = 64 << 20

Block = Mapping[str, Any]


def schema_message(block: Block) -> bytes:
    """A `Schema`, version 0."""
    return field(2, block_message(block))


def block_message(block: Block) -> bytes:
    """A `Schema.Block`."""
    out = b""
    for name, attribute in block["attributes"].items():
        mode = attribute["mode"]
        optional = mode in ("optional", "optional+computed", "write-only")
        out += field(
            2,
            field(1, name)
            + field(2, json.dumps(attribute["type"]))
            + field(4, mode == "required")
            + field(5, optional)
            + field(6, mode.endswith("computed"))
            + field(10, mode == "write-only"),
        )
    for name, nested in block["blocks"].items():
        limits = field(4, nested["min"]) + field(5, nested["max"])
        out += field(3, field(1, name) + field(2, block_message(nested)) + field(3, NESTING[nested["nesting"]]) + limits)
    return out


def instances(nested: Block, value: Any) -> list[dict[str, Any]]:
    """The blocks of one type that a configuration holds, as far as they are known."""
    found = [value] if nested["nesting"] == "single" else value
    return [block for block in found if isinstance(block, dict)] if isinstance(found, list) else []


def complete(block: Block, value: dict[str, Any]) -> dict[str, Any]:
    """The planned state: what is not configured but computed becomes unknown, what is write-only is not kept."""
    for name, attribute in block["attributes"].items():
        if attribute["mode"] == "write-only":
            value[name] = None
        elif value.get(name) is None and attribute["mode"].endswith("computed"):
            value[name] = UNKNOWN
    for name, nested in block["blocks"].items():
        for inner in instances(nested, value.get(name)):
            complete(nested, inner)
    return value


def faults(block: Block, value: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Values outside their enumeration."""
    for name, attribute in block["attributes"].items():
        given = value.get(name)
        for item in given if isinstance(given, list) else [given]:
            if isinstance(item, str) and "values" in attribute and item not in attribute["values"]:
                yield f"{path}{name} = {item!r}: expected one of {', '.join(attribute['values'])}"
    for name, nested in block["blocks"].items():
        for inner in instances(nested, value.get(name)):
            yield from faults(nested, inner, f"{path}{name}.")


class Provider:
    """The calls of plugin protocol 5 that `validate`, `test` and a first `plan` make."""

    def __init__(self) -> None:
        schema = json.loads(SCHEMA.read_text())
        self.resources: dict[str, Block] = schema["resources"]
        named = [field(1, name) + field(2, schema_message(block)) for name, block in self.resources.items()]
        self.schema = field(1, schema_message(schema["provider"])) + b"".join(field(2, entry) for entry in named)
        self.calls: dict[str, Callable[[bytes], bytes]] = {
            "GetSchema": lambda _: self.schema,
            "PrepareProviderConfig": lambda request: field(1, read(request)[1][0]),
            "Configure": lambda _: b"",
            "ValidateResourceTypeConfig": self.validate,
            "PlanResourceChange": self.plan,
            "Stop": lambda _: b"",
        }

    def validate(self, request: bytes) -> bytes:
        fields = read(request)
        found = faults(self.resources[fields[1][0].decode()], value_of(fields[2][0]))
        return b"".join(field(1, field(1, 1) + field(2, "Value not allowed") + field(3, fault)) for fault in found)

    def plan(self, request: bytes) -> bytes:
        fields = read(request)
        proposed = value_of(fields[3][0])
        planned = None if proposed is None else complete(self.resources[fields[1][0].decode()], proposed)
        tolerate_old_sdk_rules = field(5, True)  # as the real provider says: attributes and blocks may share a name
        return field(1, dynamic_of(planned)) + tolerate_old_sdk_rules


class _Calls(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        call = self.provider.calls.get(details.method.removeprefix("/tfplugin5.Provider/"))
        return grpc.unary_unary_rpc_method_handler(lambda request, _: call(request)) if call else None


@contextmanager
def running_double() -> Iterator[dict[str, str]]:
    """Serve the double from this process; yields the environment with which terraform finds it."""
    limits = [("grpc.max_receive_message_length", MESSAGE_LIMIT), ("grpc.max_send_message_length", MESSAGE_LIMIT)]
    server = grpc.server(ThreadPoolExecutor(4), handlers=(_Calls(Provider()),), options=limits)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    here = {"Protocol": "grpc", "ProtocolVersion": 5, "Pid": os.getpid(), "Test": True}
    address = {"Network": "tcp", "String": f"127.0.0.1:{port}"}
    try:
        yield {"TF_REATTACH_PROVIDERS": json.dumps({name: {**here, "Addr": address} for name in ADDRESSES})}
    finally:
        server.stop(grace=None)
