"""Between the port's documents, writes and queries and Firestore's messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from google.cloud.firestore_v1.types import document as document_messages
from google.cloud.firestore_v1.types import query as query_messages
from google.cloud.firestore_v1.types import write as write_messages

from am_server.store.firestore_wire import raw
from am_server.store.indexes import COMMIT_TIME
from am_server.store.port import Document, Increment, Query, Scalar, ServerTime, Where, Write
from am_server.store.queries import ordered_by_id
from am_server.times import from_datetime, to_datetime

_Value = raw(document_messages.Value)
_Write = raw(write_messages.Write)
_StructuredQuery = raw(query_messages.StructuredQuery)
_REQUEST_TIME = 1
_ASCENDING, _DESCENDING = 1, 2
_AND = 1
_OPERATORS = {"<": 1, "<=": 2, ">": 3, ">=": 4, "==": 5}
_IS_NULL = 3
_ID = "__name__"
_SMALLEST_ID = "__id-9223372036854775808__"


def to_value(value: Scalar, message: Any = None) -> Any:
    """A Value message with this value; the one given, or a new one."""
    message = _Value() if message is None else message
    if value is None:
        message.null_value = 0
    elif isinstance(value, bool):
        message.boolean_value = value
    elif isinstance(value, int):
        message.integer_value = value
    elif isinstance(value, float):
        message.double_value = value
    elif isinstance(value, datetime):
        to_timestamp(value, message.timestamp_value)
    elif isinstance(value, str):
        message.string_value = value
    else:
        message.bytes_value = value
    return message


def from_value(message: Any) -> Scalar:
    """The value in a Value message."""
    kind = message.WhichOneof("value_type")
    if kind == "timestamp_value":
        return from_timestamp(message.timestamp_value)
    if kind == "null_value":
        return None
    value: Scalar = getattr(message, kind)
    return value


def to_timestamp(moment: datetime, message: Any) -> None:
    """Set a Timestamp message."""
    message.seconds, micros = divmod(from_datetime(moment), 1_000_000)
    message.nanos = micros * 1000


def from_timestamp(message: Any) -> datetime:
    """The time in a Timestamp message, in whole microseconds."""
    return to_datetime(message.seconds * 1_000_000 + message.nanos // 1000)


def to_document(message: Any, root: str) -> Document:
    """A document as read; its commit time is what the server says, not what the write wrote (see `indexes.COMMIT_TIME`)."""
    updated_at = from_timestamp(message.update_time)
    data = {name: from_value(value) for name, value in message.fields.items()}
    if COMMIT_TIME in data:
        data[COMMIT_TIME] = updated_at
    return Document(message.name[len(root) + 1 :], data, updated_at)


def to_write(write: Write, root: str) -> Any:
    """A Write message."""
    message = _Write()
    if write.unchanged_since is not None:
        to_timestamp(write.unchanged_since, message.current_document.update_time)
    elif write.op in ("create", "update"):
        message.current_document.exists = write.op == "update"
    if write.op == "delete":
        message.delete = f"{root}/{write.path}"
        return message
    message.update.name = f"{root}/{write.path}"
    if write.op in ("merge", "update"):
        message.update_mask.SetInParent()
    for name, value in sorted(write.data.items()):
        if isinstance(value, Increment):
            to_value(value.by, message.update_transforms.add(field_path=name).increment)
        elif isinstance(value, ServerTime):
            message.update_transforms.add(field_path=name, set_to_server_value=_REQUEST_TIME)
        else:
            to_value(value, message.update.fields[name])
            if message.HasField("update_mask"):
                message.update_mask.field_paths.append(name)
    return message


def incremented(result: Any) -> int | float | None:
    """What a WriteResult says of the document's increment, whatever the order of its transforms' results."""
    for value in result.transform_results:
        if value.WhichOneof("value_type") in ("integer_value", "double_value"):
            number: int | float = getattr(value, value.WhichOneof("value_type"))
            return number
    return None


def to_query(query: Query, field: str | None, root: str) -> tuple[str, Any]:
    """(parent, StructuredQuery message) for a query whose one field is `field`."""
    parent, _, collection = f"{root}/{query.collection}".rpartition("/")
    message = _StructuredQuery()
    message.from_.add(collection_id=collection)
    _add_conditions(message, query.where)
    direction = _DESCENDING if query.descending else _ASCENDING
    by_id = field is None or ordered_by_id(query)
    for name in [_ID] if by_id else [field, _ID]:
        message.order_by.add(field={"field_path": name}, direction=direction)
    if query.after is not None:
        value, name_after = query.after
        if not by_id:
            to_value(value, message.start_at.values.add())
        message.start_at.values.add(reference_value=f"{root}/{query.collection}/{name_after}")
    if query.limit is not None:
        message.limit.value = query.limit
    if query.select is not None:
        project(message, query.select)
    return parent, message


def descendants(root: str, path: str, after: str | None, limit: int) -> tuple[str, Any]:
    """(parent, StructuredQuery message) for the names of the documents below a path, at any depth, after a name, in order.

    A query without a collection also finds documents below documents that do not exist. A collection's are those between
    the smallest ids that Firestore knows in it and in the next one, as Google's own recursive deletes have it.
    """
    message = _StructuredQuery()
    message.from_.add(all_descendants=True)
    message.order_by.add(field={"field_path": _ID}, direction=_ASCENDING)
    message.limit.value = limit
    project(message, ())
    parent = f"{root}/{path}"
    if len(path.split("/")) % 2:
        bounds = {">=": f"{parent}/{_SMALLEST_ID}", "<": f"{parent}\0/{_SMALLEST_ID}"}
        parent = parent.rpartition("/")[0]
        message.where.composite_filter.op = _AND
        for operator, name in bounds.items():
            part = message.where.composite_filter.filters.add().field_filter
            part.field.field_path, part.op, part.value.reference_value = _ID, _OPERATORS[operator], name
    if after is not None:
        message.start_at.values.add(reference_value=after)
    return parent, message


def project(message: Any, fields: Sequence[str]) -> None:
    """Let a query answer these fields alone."""
    for name in fields or [_ID]:
        message.select.fields.add(field_path=name)


def _add_conditions(message: Any, conditions: Sequence[Where]) -> None:
    if conditions:
        message.where.composite_filter.op = _AND
    for condition in conditions:
        part = message.where.composite_filter.filters.add()
        if condition.value is None:
            part.unary_filter.field.field_path = condition.field
            part.unary_filter.op = _IS_NULL
        else:
            part.field_filter.field.field_path = condition.field
            part.field_filter.op = _OPERATORS[condition.op]
            to_value(condition.value, part.field_filter.value)
