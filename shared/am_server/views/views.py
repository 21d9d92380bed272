"""The views of this instance, per agent or shared space and kind: made when first read, the least recently used dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, Protocol, TypeVar, cast

from am_server.embed.port import Embedder, EmbedderUnavailable
from am_server.memory.graph import Graph
from am_server.memory.node_texts import Embed
from am_server.memory.procedures import Procedures
from am_server.memory.wordtable import pool
from am_server.objects.port import ObjectStore
from am_server.store.port import DocumentStore
from am_server.times import Clock
from am_server.views.episodes import Episodes, EpisodeView
from am_server.views.graph import GraphModel
from am_server.views.latest import Latest
from am_server.views.log import LogView
from am_server.views.messages import MessageModel, Messages
from am_server.views.procedures import ProcedureModel

MAX_BYTES = 160 * 1024 * 1024
"""What all views together may hold: a function of 512 MiB also holds Python, numpy, the cloud clients and the word table."""


Seen = TypeVar("Seen", covariant=True)


class View(Protocol[Seen]):
    """What an instance keeps in memory about one part of one agent's memory."""

    def refresh(self) -> Seen:
        """What it holds, with every change that was acknowledged before this call."""
        ...

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        ...


class Views:
    """Every view of this instance. Safe under threads."""

    def __init__(
        self,
        store: DocumentStore,
        objects: ObjectStore,
        embedder: Embedder | None,
        clock: Clock,
        fusion: str = "weighted",
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._store = store
        self._objects = objects
        self._embedder = embedder
        self._clock = clock
        self._fusion = fusion
        self._max_bytes = max_bytes
        self._views: OrderedDict[tuple[str, str], View[Any]] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self._handed_out: dict[tuple[str, str], View[Any]] = {}
        self._lock = Lock()

    def episodes(self, agent_uid: str) -> EpisodeView:
        """The agent's episodes, current."""

        def make(root: str) -> Episodes:
            return Episodes(self._store, self._objects, self._embedder, self._fusion, root)

        return self._current(f"agents/{agent_uid}", "episodes", make)

    def graph(self, agent_uid: str) -> Graph:
        """The agent's entities and edges, current."""
        return self._current(f"agents/{agent_uid}", "graph", self._graph)

    def space(self, space_id: str) -> Graph:
        """The entities of a shared space, current."""
        return self._current(f"spaces/{space_id}", "graph", self._graph)

    def procedures(self, agent_uid: str) -> Procedures:
        """The agent's procedures, current."""
        return self._current(f"agents/{agent_uid}", "procedures", self._procedures)

    def messages(self, agent_uid: str) -> Messages:
        """The agent's episodes as messages of the REST API, without contents; current."""
        return self._current(f"agents/{agent_uid}", "messages", self._messages)

    @property
    def embed_words(self) -> Embed | None:
        """Texts as vectors by the word table, which costs no network; None without an embedder, or where it has no table."""
        try:
            table = None if self._embedder is None else self._embedder.table
        except EmbedderUnavailable:
            return None
        return None if table is None else partial(pool, table=table)

    def forget(self, agent_uid: str) -> None:
        """Drop everything about an agent; what is still stored will be read again."""
        with self._lock:
            for key in [key for key in self._views if key[0] == f"agents/{agent_uid}"]:
                self._drop(key)

    def _current(self, root: str, kind: str, make: Callable[[str], View[Seen]]) -> Seen:
        """What lies under a path as its view sees it, which is made by `make(root)` when this instance has none."""
        key = (root, kind)
        with self._lock:
            view = cast(View[Seen], self._views.get(key) or make(root))
            self._views[key] = view
            self._views.move_to_end(key)
        seen = view.refresh()
        self._weigh(key, view)
        return seen

    def _weigh(self, key: tuple[str, str], view: View[Any]) -> None:
        """Note how large this view is, and those that were handed out before it and may have grown in use; make room."""
        with self._lock:
            handed_out, self._handed_out = {**self._handed_out, key: view}, {key: view}
        sizes = {each: (view, view.size) for each, view in handed_out.items()}
        with self._lock:
            self._sizes.update({each: size for each, (view, size) in sizes.items() if self._views.get(each) is view})
            self._make_room(key)

    def _graph(self, root: str) -> Latest[Graph]:
        return Latest(LogView(self._store, root, GraphModel()))

    def _procedures(self, root: str) -> Latest[Procedures]:
        return Latest(LogView(self._store, root, ProcedureModel()))

    def _messages(self, root: str) -> Latest[Messages]:
        return Latest(LogView(self._store, root, MessageModel(), "messages"))

    def _make_room(self, kept: tuple[str, str]) -> None:
        while sum(self._sizes.values()) > self._max_bytes:
            oldest = next((key for key in self._views if key != kept), None)
            if oldest is None:
                return
            self._drop(oldest)

    def _drop(self, key: tuple[str, str]) -> None:
        del self._views[key]
        self._sizes.pop(key, None)
