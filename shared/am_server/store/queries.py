"""Which queries are allowed, the same on every adapter."""

from __future__ import annotations

from datetime import datetime

from am_server.errors import Invalid
from am_server.store.documents import check_path, collection_name
from am_server.store.indexes import COMMIT_TIME, INDEXED
from am_server.store.port import Query, Where

_MAX_INDEXED_BYTES = 1499


def field_of(query: Query) -> str | None:
    """The one field that conditions and order concern; None when the query has neither.

    Raises RuntimeError when there are several fields, the field is not declared in `indexes.INDEXED`, or ids are to be
    descending, because such a query would need an index that the database does not have; also when a query by commit
    time is not a plain one. Raises ValueError for a bad collection or limit, and Invalid for a text or bytes longer than
    what an index holds.
    """
    check_path(query.collection + "/id")
    if query.limit is not None and query.limit < 1:
        raise ValueError("a query's limit is at least 1")
    for condition in query.where:
        _check_indexable(condition)
    fields = {condition.field for condition in query.where}
    if query.order_by is not None:
        fields.add(query.order_by)
    if not fields:
        if query.descending:
            raise RuntimeError("document ids are ascending only")
        return None
    if len(fields) > 1:
        raise RuntimeError(f"a query concerns one field, not {', '.join(sorted(fields))}")
    (field,) = fields
    name = collection_name(query.collection)
    if field not in INDEXED.get(name, ()):
        raise RuntimeError(f"'{field}' of '{name}' is not declared in store/indexes.py")
    if field == COMMIT_TIME:
        if query.descending or query.limit is not None or query.after is not None:
            raise RuntimeError(f"a query by '{field}' is answered whole and ascending")
        if not all(isinstance(condition.value, datetime) for condition in query.where):
            raise RuntimeError(f"'{field}' is compared with times only")
    return field


def _check_indexable(condition: Where) -> None:
    value = condition.value.encode() if isinstance(condition.value, str) else condition.value
    if isinstance(value, bytes) and len(value) > _MAX_INDEXED_BYTES:
        raise Invalid(condition.field, f"at most {_MAX_INDEXED_BYTES:,} bytes can be looked up")


def ordered_by_id(query: Query) -> bool:
    """Whether the order is the document id alone: no field is ordered, and no range puts its field first."""
    return query.order_by is None and all(condition.op == "==" for condition in query.where)
