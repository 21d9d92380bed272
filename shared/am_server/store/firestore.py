"""The document store on Google Cloud Firestore, or on its emulator when FIRESTORE_EMULATOR_HOST is set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import grpc

from am_server.store.documents import check_commit, check_path
from am_server.store.firestore_tail import by_stored_time, known_until, only_committed
from am_server.store.firestore_values import descendants, from_timestamp, incremented, to_document, to_query, to_write
from am_server.store.firestore_wire import Wire, failure, patiently
from am_server.store.indexes import COMMIT_TIME
from am_server.store.metered import active_meter
from am_server.store.port import (
    AlreadyExists,
    Changed,
    Changes,
    CommitResult,
    Document,
    Missing,
    PreconditionFailed,
    Query,
    TooLarge,
    Where,
    Write,
    delete,
)
from am_server.store.queries import field_of

_DELETE_PAGE = 500
_STORED_VERSION = re.compile(r"the stored version \((\d+)\)")
_SIZE = re.compile(r"maximum (entity )?size|longer than \d+ bytes|exceeds the (maximum|limit)|too (big|large)", re.IGNORECASE)


class FirestoreStore:
    """The `DocumentStore` of the cloud. `project` None is the one of the credentials."""

    def __init__(self, project: str | None, database: str) -> None:
        self._wire = Wire(project, database)

    def get(self, path: str) -> Document | None:
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Document | None]:
        for path in paths:
            check_path(path)
        if not paths:
            return []
        root = self._wire.root
        answers = self._wire.batch_get([f"{root}/{path}" for path in dict.fromkeys(paths)])
        found = {document.path: document for document in _found(answers, root)}
        return [found.get(path) for path in paths]

    def query(self, query: Query) -> list[Document]:
        field = field_of(query)
        return self._query_by_commit_time(query)[0] if field == COMMIT_TIME else self._query(query, field)[0]

    def changes(self, collection: str, since: datetime | None, select: Sequence[str] | None = None) -> Changes:
        where = [] if since is None else [Where(COMMIT_TIME, ">", since)]
        found, read_at = self._query_by_commit_time(Query(collection, where, COMMIT_TIME, select=select))
        return Changes(found, known_until(since, found, read_at))

    def count(self, query: Query) -> int:
        field = field_of(query)
        if field == COMMIT_TIME:
            return len(self._query_by_commit_time(replace(query, select=()))[0])
        return self._wire.run_count(*to_query(replace(query, select=None), field, self._wire.root))

    def commit(self, writes: Sequence[Write]) -> CommitResult:
        check_commit(writes)
        root = self._wire.root
        try:
            answer = self._wire.commit([to_write(write, root) for write in writes])
        except grpc.RpcError as error:
            raise self._meaning(error, writes) from error
        return CommitResult(from_timestamp(answer.commit_time), [incremented(result) for result in answer.write_results])

    def delete_tree(self, path: str) -> int:
        root = self._wire.root
        is_document = len(path.split("/")) % 2 == 0
        total, after = 0, None
        while True:
            messages, _ = self._wire.run_query(*descendants(root, path, after, _DELETE_PAGE))
            names = [message.name for message in messages]
            self._delete([name[len(root) + 1 :] for name in names])
            total += len(names)
            if len(names) < _DELETE_PAGE:
                break
            after = names[-1]
        if is_document and self._found_now([path]):
            self._delete([path])
            total += 1
        return total

    def close(self) -> None:
        self._wire.close()

    def _query(self, query: Query, field: str | None) -> tuple[list[Document], datetime]:
        """What is found, and the moment as of which it is."""
        root = self._wire.root
        messages, read_at = self._wire.run_query(*to_query(query, field, root))
        return [to_document(message, root) for message in messages], from_timestamp(read_at)

    def _query_by_commit_time(self, query: Query) -> tuple[list[Document], datetime]:
        read, read_at = self._query(by_stored_time(query), COMMIT_TIME)
        found = only_committed(query, read)
        meter = active_meter()
        if meter is not None:
            # The caller is counted for what it gets; here is what was read beside that.
            meter.reads += max(1, len(read)) - max(1, len(found))
        return found, read_at

    def _delete(self, paths: Sequence[str]) -> None:
        """Deleting twice is the same as once, so this may be repeated, unlike other commits."""
        if paths:
            root = self._wire.root
            patiently(lambda: self._wire.commit([to_write(delete(path), root) for path in paths]))

    def _found_now(self, paths: Sequence[str]) -> dict[str, Document]:
        """Those of the documents that exist, without their fields."""
        root = self._wire.root
        answers = self._wire.batch_get([f"{root}/{path}" for path in dict.fromkeys(paths)], fields=[])
        return {document.path: document for document in _found(answers, root)}

    def _meaning(self, error: Any, writes: Sequence[Write]) -> Exception:
        """What to raise for a commit that the server refused."""
        code, details = error.code(), error.details() or ""
        if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED) and _SIZE.search(details):
            return TooLarge("a document or the whole commit is larger than the store takes; shorten it or split it")
        conditional = [write for write in writes if _may_refuse(write, code)]
        if not conditional:
            return failure(error)
        if len(conditional) == 1 and code is not grpc.StatusCode.FAILED_PRECONDITION:
            (write,) = conditional
            return AlreadyExists(write.path) if write.op == "create" else Missing(write.path)
        stored = _STORED_VERSION.search(details)
        if len(conditional) == 1 and stored:
            return (Changed if int(stored[1]) else Missing)(conditional[0].path)
        return self._first_refused(conditional)

    def _first_refused(self, conditional: Sequence[Write]) -> PreconditionFailed:
        """The server does not say which document it was: look. If all is well by now, any of them could have been."""
        found = self._found_now([write.path for write in conditional])
        for write in conditional:
            document = found.get(write.path)
            if write.op == "create":
                if document is not None:
                    return AlreadyExists(write.path)
            elif document is None:
                return Missing(write.path)
            elif write.unchanged_since not in (None, document.updated_at):
                return Changed(write.path)
        first = conditional[0]
        return (AlreadyExists if first.op == "create" else Changed)(first.path)


def _found(answers: Sequence[Any], root: str) -> list[Document]:
    return [to_document(answer.found, root) for answer in answers if answer.HasField("found")]


def _may_refuse(write: Write, code: grpc.StatusCode) -> bool:
    """Whether this write's precondition can be what made a commit fail with this status."""
    if code is grpc.StatusCode.ALREADY_EXISTS:
        return write.op == "create"
    if code is grpc.StatusCode.NOT_FOUND:
        return write.op == "update" or write.unchanged_since is not None
    return code is grpc.StatusCode.FAILED_PRECONDITION and write.unchanged_since is not None
