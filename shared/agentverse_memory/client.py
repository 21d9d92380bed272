"""The two clients. Every tool is a method of both, declared once in `operations`."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from agentverse_memory import operations, types
from agentverse_memory.operations import Operation
from agentverse_memory.wire import (
    DEFAULT_BASE_URL,
    headers_of,
    json_of,
    out_of_reach,
    pause,
    request_of,
    result_of,
    retry_after,
    worth_repeating,
)

P = ParamSpec("P")
R = TypeVar("R")

_TOKEN_MARGIN = 60
_CHANGES_SPACES = {"memory_create_shared_space", "memory_join_shared_space"}


class _Session:
    """What both clients know: where the service is, the key, and the space token while it holds."""

    def __init__(self, api_key: str | None, base_url: str | None) -> None:
        self.base_url = (base_url or os.environ.get("AM_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        self.api_key = api_key or os.environ.get("AM_API_KEY")
        self._token: tuple[str, float] | None = None

    def _fresh_token(self) -> str | None:
        return self._token[0] if self._token and self._token[1] > time.monotonic() else None

    def _keep_token(self, answer: Any) -> str:
        token: str = answer["token"]
        self._token = token, time.monotonic() + answer["expires_in"] - _TOKEN_MARGIN
        return token

    def _settled(self, operation: Operation[Any]) -> None:
        if operation.tool in _CHANGES_SPACES:
            self._token = None  # the next one names the new space


def _method(operation: Callable[P, Operation[R]]) -> Callable[Concatenate[Client, P], R]:
    @functools.wraps(operation)
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(operation(*args, **kwargs))

    return call


class Client(_Session):
    """A synchronous client.

    `api_key` and `base_url` default to AM_API_KEY and AM_BASE_URL. Failed connections and 429, 502, 503 and 504 are
    tried again up to three times; writes carry an idempotency key, so that nothing happens twice.
    """

    store_episode = _method(operations.store_episode)
    get_episodes = _method(operations.get_episodes)
    search_episodes = _method(operations.search_episodes)
    search_timeline = _method(operations.search_timeline)
    consolidate_episodes = _method(operations.consolidate_episodes)
    store_entity = _method(operations.store_entity)
    get_entity = _method(operations.get_entity)
    list_entities = _method(operations.list_entities)
    store_relation = _method(operations.store_relation)
    get_relations = _method(operations.get_relations)
    query_graph = _method(operations.query_graph)
    semantic_search = _method(operations.semantic_search)
    get_neighbors = _method(operations.get_neighbors)
    find_path = _method(operations.find_path)
    traverse_graph = _method(operations.traverse_graph)
    add_triple = _method(operations.add_triple)
    graph_neighbors = _method(operations.graph_neighbors)
    shortest_path = _method(operations.shortest_path)
    store_procedure = _method(operations.store_procedure)
    get_procedure = _method(operations.get_procedure)
    match_procedure = _method(operations.match_procedure)
    update_procedure = _method(operations.update_procedure)
    set_working = _method(operations.set_working)
    get_working = _method(operations.get_working)
    list_working = _method(operations.list_working)
    clear_working = _method(operations.clear_working)
    deposit_pheromone = _method(operations.deposit_pheromone)
    get_pheromone = _method(operations.get_pheromone)
    create_shared_space = _method(operations.create_shared_space)
    join_shared_space = _method(operations.join_shared_space)
    shared_store_entity = _method(operations.shared_store_entity)
    shared_query = _method(operations.shared_query)
    list_shared_spaces = _method(operations.list_shared_spaces)
    get_stats = _method(operations.get_stats)
    delete_agent = _method(operations.delete_agent)

    def __init__(self, api_key: str | None = None, base_url: str | None = None, timeout: float = 60.0) -> None:
        super().__init__(api_key, base_url)
        self._http = httpx.Client(base_url=self.base_url, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def create_key(self, agent_id: str, tier: str = "explorer") -> types.NewKey:
        """Make a key (an account's first, or a further one under the current key) and use it from now on."""
        body = {"agent_id": agent_id, "tier": tier}
        made: types.NewKey = json_of(self._send("POST", "/v1/keys", body, headers_of(self.api_key), again=False))
        self.api_key, self._token = made["key"], None
        return made

    def health(self) -> dict[str, Any]:
        """The service's own word on how it is."""
        answer: dict[str, Any] = json_of(self._send("GET", "/health", None, {}))
        return answer

    def run(self, operation: Operation[R]) -> R:
        """The answer to a call. Raises an AgentverseMemoryError."""
        token = (self._fresh_token() or self._new_token()) if operation.shared else None
        answer = self._send("POST", "/mcp", request_of(operation), headers_of(self.api_key, token))
        result: R = result_of(json_of(answer))
        self._settled(operation)
        return result

    def iter_episodes(self, page: int = 50) -> Iterator[types.Episode]:
        """All episodes, the newest first."""
        cursor = None
        while True:
            answer = self.get_episodes(page, cursor=cursor)
            yield from answer["episodes"]
            cursor = answer.get("next_cursor")
            if cursor is None:
                return

    def iter_entities(self, page: int = 50, *, type: str | None = None, prefix: str | None = None) -> Iterator[types.Entity]:
        """All entities."""
        cursor = None
        while True:
            answer = self.list_entities(page, type=type, prefix=prefix, cursor=cursor)
            yield from answer["entities"]
            cursor = answer.get("next_cursor")
            if cursor is None:
                return

    def _new_token(self) -> str:
        return self._keep_token(json_of(self._send("POST", "/v1/space-token", {}, headers_of(self.api_key))))

    def _send(self, verb: str, path: str, body: Any, headers: Any, again: bool = True) -> httpx.Response:
        attempt = 0
        while True:
            try:
                answer = self._http.request(verb, path, json=body, headers=headers)
                wait = pause(attempt, retry_after(answer)) if again and worth_repeating(answer) else None
                if wait is None:
                    return answer
            except httpx.TransportError as problem:
                wait = pause(attempt, None) if again else None
                if wait is None:
                    raise out_of_reach(self.base_url, problem) from problem
            time.sleep(wait)
            attempt += 1


def _async_method(operation: Callable[P, Operation[R]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    @functools.wraps(operation)
    async def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.run(operation(*args, **kwargs))

    return call


class AsyncClient(_Session):
    """The same for asyncio: every method is awaited."""

    store_episode = _async_method(operations.store_episode)
    get_episodes = _async_method(operations.get_episodes)
    search_episodes = _async_method(operations.search_episodes)
    search_timeline = _async_method(operations.search_timeline)
    consolidate_episodes = _async_method(operations.consolidate_episodes)
    store_entity = _async_method(operations.store_entity)
    get_entity = _async_method(operations.get_entity)
    list_entities = _async_method(operations.list_entities)
    store_relation = _async_method(operations.store_relation)
    get_relations = _async_method(operations.get_relations)
    query_graph = _async_method(operations.query_graph)
    semantic_search = _async_method(operations.semantic_search)
    get_neighbors = _async_method(operations.get_neighbors)
    find_path = _async_method(operations.find_path)
    traverse_graph = _async_method(operations.traverse_graph)
    add_triple = _async_method(operations.add_triple)
    graph_neighbors = _async_method(operations.graph_neighbors)
    shortest_path = _async_method(operations.shortest_path)
    store_procedure = _async_method(operations.store_procedure)
    get_procedure = _async_method(operations.get_procedure)
    match_procedure = _async_method(operations.match_procedure)
    update_procedure = _async_method(operations.update_procedure)
    set_working = _async_method(operations.set_working)
    get_working = _async_method(operations.get_working)
    list_working = _async_method(operations.list_working)
    clear_working = _async_method(operations.clear_working)
    deposit_pheromone = _async_method(operations.deposit_pheromone)
    get_pheromone = _async_method(operations.get_pheromone)
    create_shared_space = _async_method(operations.create_shared_space)
    join_shared_space = _async_method(operations.join_shared_space)
    shared_store_entity = _async_method(operations.shared_store_entity)
    shared_query = _async_method(operations.shared_query)
    list_shared_spaces = _async_method(operations.list_shared_spaces)
    get_stats = _async_method(operations.get_stats)
    delete_agent = _async_method(operations.delete_agent)

    def __init__(self, api_key: str | None = None, base_url: str | None = None, timeout: float = 60.0) -> None:
        super().__init__(api_key, base_url)
        self._http = httpx.AsyncClient(base_url=self.base_url, timeout=timeout)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def create_key(self, agent_id: str, tier: str = "explorer") -> types.NewKey:
        """Make a key (an account's first, or a further one under the current key) and use it from now on."""
        body = {"agent_id": agent_id, "tier": tier}
        made: types.NewKey = json_of(await self._send("POST", "/v1/keys", body, headers_of(self.api_key), again=False))
        self.api_key, self._token = made["key"], None
        return made

    async def health(self) -> dict[str, Any]:
        """The service's own word on how it is."""
        answer: dict[str, Any] = json_of(await self._send("GET", "/health", None, {}))
        return answer

    async def run(self, operation: Operation[R]) -> R:
        """The answer to a call. Raises an AgentverseMemoryError."""
        token = (self._fresh_token() or await self._new_token()) if operation.shared else None
        answer = await self._send("POST", "/mcp", request_of(operation), headers_of(self.api_key, token))
        result: R = result_of(json_of(answer))
        self._settled(operation)
        return result

    async def iter_episodes(self, page: int = 50) -> AsyncIterator[types.Episode]:
        """All episodes, the newest first."""
        cursor = None
        while True:
            answer = await self.get_episodes(page, cursor=cursor)
            for episode in answer["episodes"]:
                yield episode
            cursor = answer.get("next_cursor")
            if cursor is None:
                return

    async def iter_entities(
        self, page: int = 50, *, type: str | None = None, prefix: str | None = None
    ) -> AsyncIterator[types.Entity]:
        """All entities."""
        cursor = None
        while True:
            answer = await self.list_entities(page, type=type, prefix=prefix, cursor=cursor)
            for entity in answer["entities"]:
                yield entity
            cursor = answer.get("next_cursor")
            if cursor is None:
                return

    async def _new_token(self) -> str:
        return self._keep_token(json_of(await self._send("POST", "/v1/space-token", {}, headers_of(self.api_key))))

    async def _send(self, verb: str, path: str, body: Any, headers: Any, again: bool = True) -> httpx.Response:
        attempt = 0
        while True:
            try:
                answer = await self._http.request(verb, path, json=body, headers=headers)
                wait = pause(attempt, retry_after(answer)) if again and worth_repeating(answer) else None
                if wait is None:
                    return answer
            except httpx.TransportError as problem:
                wait = pause(attempt, None) if again else None
                if wait is None:
                    raise out_of_reach(self.base_url, problem) from problem
            await asyncio.sleep(wait)
            attempt += 1
