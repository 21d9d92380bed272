"""Firestore's gRPC methods, called as they are.

The generated messages of google-cloud-firestore are used without its client: that one repeats commits on its own, and
an increment that is repeated counts twice.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import quote

import google.auth
import google.auth.exceptions
import grpc
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import firestore as messages

from am_server.per_process import PerProcess
from am_server.store.port import StoreUnavailable

T = TypeVar("T")

COMMIT_SECONDS = 5.0
"""How long a commit may take; the server gives it up at the same moment."""

_READ_SECONDS = 5.0
_QUERY_SECONDS = 30.0
_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.05
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_CHANNEL_OPTIONS = [
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
]


def raw(message: Any) -> Any:
    """The protobuf class under a generated wrapper class; making and reading its objects is many times faster."""
    return type(message.pb(message()))


CommitRequest = raw(messages.CommitRequest)
BatchGetRequest = raw(messages.BatchGetDocumentsRequest)
RunQueryRequest = raw(messages.RunQueryRequest)
RunAggregationRequest = raw(messages.RunAggregationQueryRequest)


class Wire:
    """One database. `project` None is the one of the credentials."""

    def __init__(self, project: str | None, database: str) -> None:
        self._project = project
        self._database = database
        self._connection = PerProcess(self._connect)

    @property
    def root(self) -> str:
        """The name of the folder of all documents, without a slash at its end."""
        return self._connection.get().database + "/documents"

    def commit(self, writes: Iterable[Any]) -> Any:
        """Send the writes once. Raises grpc.RpcError."""
        connection = self._connection.get()
        return connection.commit(CommitRequest(database=connection.database, writes=writes))

    def batch_get(self, names: Iterable[str], *, fields: Iterable[str] | None = None) -> list[Any]:
        """The responses for documents of these names, in any order; only these fields if any are given."""
        connection = self._connection.get()
        request = BatchGetRequest(database=connection.database, documents=names)
        if fields is not None:
            request.mask.SetInParent()
            request.mask.field_paths.extend(fields)
        return patiently(lambda: list(connection.batch_get(request)))

    def run_query(self, parent: str, query: Any) -> tuple[list[Any], Any]:
        """The documents that a structured query finds below `parent`, and the timestamp as of which it does."""
        request = RunQueryRequest(parent=parent, structured_query=query)
        connection = self._connection.get()
        answers = patiently(lambda: list(connection.run_query(request)))
        return [answer.document for answer in answers if answer.HasField("document")], answers[-1].read_time

    def run_count(self, parent: str, query: Any) -> int:
        """How many documents it finds."""
        request = RunAggregationRequest(parent=parent)
        request.structured_aggregation_query.structured_query.CopyFrom(query)
        aggregation = request.structured_aggregation_query.aggregations.add()
        aggregation.alias = "n"
        aggregation.count.SetInParent()
        connection = self._connection.get()
        answers = patiently(lambda: list(connection.run_aggregation(request)))
        return sum(answer.result.aggregate_fields["n"].integer_value for answer in answers if answer.HasField("result"))

    def close(self) -> None:
        self._connection.close(lambda connection: connection.channel.close())

    def _connect(self) -> _Connection:
        emulator = os.environ.get("FIRESTORE_EMULATOR_HOST")
        if emulator:
            channel = grpc.insecure_channel(emulator, options=_CHANNEL_OPTIONS)
            local_project = self._project or os.environ.get("GOOGLE_CLOUD_PROJECT") or "demo"
            return _Connection(channel, local_project, self._database, [("authorization", "Bearer owner")])
        try:
            credentials, default_project = google.auth.default(scopes=FirestoreGrpcTransport.AUTH_SCOPES)
        except google.auth.exceptions.GoogleAuthError as error:
            raise StoreUnavailable(f"Firestore cannot be used without Google credentials ({error})") from error
        project = self._project or default_project
        if not project:
            raise StoreUnavailable("Firestore needs a project; set GOOGLE_CLOUD_PROJECT")
        channel = FirestoreGrpcTransport.create_channel(credentials=credentials, options=_CHANNEL_OPTIONS)
        return _Connection(channel, project, self._database, [])


class _Connection:
    """A channel to the service and the methods we call through it."""

    def __init__(self, channel: grpc.Channel, project: str, database: str, metadata: list[tuple[str, str]]) -> None:
        self.channel = channel
        self.database = f"projects/{project}/databases/{database}"
        routing = f"project_id={quote(project, safe='')}&database_id={quote(database, safe='')}"
        self._metadata = [("google-cloud-resource-prefix", self.database), ("x-goog-request-params", routing), *metadata]
        self.commit = self._method("Commit", messages.CommitRequest, messages.CommitResponse, COMMIT_SECONDS)
        self.batch_get = self._method(
            "BatchGetDocuments", messages.BatchGetDocumentsRequest, messages.BatchGetDocumentsResponse, _READ_SECONDS, many=True
        )
        self.run_query = self._method("RunQuery", messages.RunQueryRequest, messages.RunQueryResponse, _QUERY_SECONDS, many=True)
        self.run_aggregation = self._method(
            "RunAggregationQuery",
            messages.RunAggregationQueryRequest,
            messages.RunAggregationQueryResponse,
            _QUERY_SECONDS,
            many=True,
        )

    def _method(self, name: str, request: Any, response: Any, seconds: float, many: bool = False) -> Callable[[Any], Any]:
        kind = self.channel.unary_stream if many else self.channel.unary_unary
        call = kind(
            f"/google.firestore.v1.Firestore/{name}",
            request_serializer=raw(request).SerializeToString,
            response_deserializer=raw(response).FromString,
        )
        return lambda message: call(message, timeout=seconds, metadata=self._metadata)


def patiently(read: Callable[[], T]) -> T:
    """Repeat something that may be repeated while the failure is a passing one. Raises StoreUnavailable."""
    for attempt in range(_ATTEMPTS):
        try:
            return read()
        except grpc.RpcError as error:
            if error.code() not in _PASSING or attempt == _ATTEMPTS - 1:
                raise failure(error) from error
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311
    raise AssertionError("unreachable")


def failure(error: Any) -> Exception:
    """The error to raise for one of gRPC's that has no meaning of its own. Details may name documents: left out."""
    code = error.code()
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED):
        return RuntimeError(f"Firestore refuses the request: {error.details()}")
    if code in (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.NOT_FOUND):
        return StoreUnavailable(
            f"Firestore cannot be used ({code.name}); check the project, the database and the role of this service"
        )
    if code is grpc.StatusCode.ABORTED:
        return StoreUnavailable("too many changes of the same documents at the same time; try again")
    return StoreUnavailable(f"Firestore did not answer in time ({code.name}); try again")
