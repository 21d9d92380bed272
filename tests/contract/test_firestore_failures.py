"""What the Firestore adapter does when the service fails, against a server that fails as told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from am_server.errors import AmError
from am_server.store import firestore_wire
from am_server.store.firestore import FirestoreStore
from am_server.store.firestore_tail import LATENESS, by_stored_time, only_committed
from am_server.store.port import Document, Increment, Query, StoreUnavailable, TooLarge, Where, create, merge, put


class FailingService(grpc.GenericRpcHandler):
    """Answers every call with the next failure, and with an empty success when there is none left."""

    def __init__(self) -> None:
        self.failures: list[tuple[grpc.StatusCode, str]] = []
        self.calls: list[tuple[str, dict[str, str]]] = []

    def service(self, call: Any) -> grpc.RpcMethodHandler:
        def answer(_request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls.append((call.method.rpartition("/")[2], dict(call.invocation_metadata)))
            if self.failures:
                context.abort(*self.failures.pop(0))
            return b""

        def answers(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            yield answer(request, context)

        return (grpc.unary_unary_rpc_method_handler if call.method.endswith("/Commit") else grpc.unary_stream_rpc_method_handler)(
            answer if call.method.endswith("/Commit") else answers
        )


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FailingService]:
    failing = FailingService()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[failing])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{port}")
    monkeypatch.setattr(firestore_wire, "_FIRST_PAUSE_SECONDS", 0.001)
    yield failing
    server.stop(None).wait()


@pytest.fixture
def store(service: FailingService) -> Iterator[FirestoreStore]:
    store = FirestoreStore("demo-failing", "memory")
    yield store
    store.close()


PASSING = [
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.INTERNAL,
]


@pytest.mark.parametrize("status", PASSING)
def test_a_commit_is_sent_once_whatever_happens(service: FailingService, store: FirestoreStore, status: grpc.StatusCode) -> None:
    service.failures = [(status, "it went wrong")]
    with pytest.raises(StoreUnavailable, match="try again"):
        store.commit([merge("usage/u", {"n": Increment(1)})])
    assert [method for method, _ in service.calls] == ["Commit"]


@pytest.mark.parametrize("status", PASSING)
def test_a_read_is_repeated_while_the_failure_may_pass(
    service: FailingService, store: FirestoreStore, status: grpc.StatusCode
) -> None:
    service.failures = [(status, "it went wrong")] * 2
    assert store.get("usage/u") is None
    assert store.query(Query("usage")) == []
    assert [method for method, _ in service.calls] == ["BatchGetDocuments"] * 3 + ["RunQuery"]


def test_a_read_is_not_repeated_for_ever(service: FailingService, store: FirestoreStore) -> None:
    service.failures = [(grpc.StatusCode.UNAVAILABLE, "down")] * 100
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        store.get("usage/u")
    assert len(service.calls) == 4


@pytest.mark.parametrize(
    "status", [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.NOT_FOUND]
)
def test_a_service_that_may_not_use_the_database_is_told_what_to_check(
    service: FailingService, store: FirestoreStore, status: grpc.StatusCode
) -> None:
    service.failures = [(status, "the secret document"), (status, "the secret document")]
    for act in (lambda: store.get("usage/u"), lambda: store.commit([put("usage/u", {})])):
        with pytest.raises(StoreUnavailable, match="check the project, the database and the role") as raised:
            act()
        assert "secret" not in str(raised.value)
    assert len(service.calls) == 2


@pytest.mark.parametrize(
    ("status", "details"),
    [
        (
            grpc.StatusCode.INVALID_ARGUMENT,
            "Document 'projects/p/x' cannot be written because its size (1,200,000 bytes) exceeds the maximum",
        ),
        (grpc.StatusCode.INVALID_ARGUMENT, 'The value of property "x" is longer than 1048487 bytes.'),
        (grpc.StatusCode.INVALID_ARGUMENT, "Request payload size exceeds the limit: 11534336 bytes."),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "gRPC message exceeds maximum size 4194304: 5400505"),
    ],
)
def test_what_the_server_finds_too_large_is_too_large(
    service: FailingService, store: FirestoreStore, status: grpc.StatusCode, details: str
) -> None:
    service.failures = [(status, details)]
    with pytest.raises(TooLarge, match="shorten it or split it"):
        store.commit([put("usage/u", {})])


def test_a_refusal_nobody_foresaw_is_a_bug(service: FailingService, store: FirestoreStore) -> None:
    service.failures = [(grpc.StatusCode.INVALID_ARGUMENT, "no such operator")]
    with pytest.raises(RuntimeError, match="no such operator"):
        store.commit([put("usage/u", {})])


def test_calls_name_the_database_for_routing(service: FailingService, store: FirestoreStore) -> None:
    store.commit([put("usage/u", {})])
    ((_, metadata),) = service.calls
    assert metadata["google-cloud-resource-prefix"] == "projects/demo-failing/databases/memory"
    assert metadata["x-goog-request-params"] == "project_id=demo-failing&database_id=memory"


def test_a_server_that_is_not_there_is_unavailable_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
    store = FirestoreStore("demo-nowhere", "(default)")
    began = time.monotonic()
    for act in (lambda: store.get("usage/u"), lambda: store.commit([create("usage/u", {})])):
        with pytest.raises(AmError) as raised:
            act()
        assert type(raised.value) is StoreUnavailable
    assert time.monotonic() - began < 10


MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_commit_that_took_long_is_among_those_after_the_last_one_seen() -> None:
    """It arrived, and got its stored time, before the last one seen; and it was committed after it."""
    query = Query("agents/a/graph", [Where("changed_at", ">", MOMENT)], select=["kind"])
    (condition,) = by_stored_time(query).where
    arrived = MOMENT - timedelta(seconds=firestore_wire.COMMIT_SECONDS)
    assert condition.op == ">="
    assert condition.value == MOMENT - LATENESS < arrived
    found = [
        Document(f"agents/a/graph/{id}", {}, MOMENT + timedelta(milliseconds=later))
        for later, id in ((3, "b"), (0, "a"), (-5, "c"), (1, "d"), (1, "c"))
    ]
    assert [(document.id, document.updated_at > MOMENT) for document in only_committed(query, found)] == [
        ("c", True),
        ("d", True),
        ("b", True),
    ]
