"""An agent's episodes as this instance sees them: current, searchable, with the few that were read last at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from am_server.embed.port import Embedder
from am_server.errors import Unavailable
from am_server.memory.index import Index
from am_server.memory.postings import META, term_hashes
from am_server.memory.recall import Fusion, Hit, recall, trail_weights
from am_server.memory.trails import FAINT
from am_server.objects.port import ObjectStore
from am_server.store.port import DocumentStore
from am_server.views.contents import Contents, Episode
from am_server.views.episode_index import EpisodeModel, EpisodeState, id_bytes, id_text
from am_server.views.log import LogView
from am_server.views.meaning import Encoded, Pooled
from am_server.views.vectors import VectorCache

DEAD_EPISODES = 10_000
"""An index that holds more dead episodes than living ones and these is loaded anew, without them."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for, and where. Times in microseconds since 1970."""

    query: str
    limit: int
    hybrid: bool = True
    trails_at: int | None = None
    """Rank by trails as they are at this time."""
    session_id: str | None = None
    speaker: str | None = None
    labels: Sequence[str] = ()
    """Index terms, all of which an episode's metadata must have."""
    start: int | None = None
    end: int | None = None
    ids: Sequence[str] | None = None
    """Only these episodes."""
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """An episode that answers."""

    episode: Episode
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Its place in each leg of the search, when explained."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search, best first."""

    results: Sequence[Result]
    retrieval: Literal["hybrid", "tfidf"]
    coverage: float = 1.0
    """The share of episodes that the dense side knows."""
    degraded: str | None = None
    """Why a hybrid search was lexical only."""


@dataclass(frozen=True, slots=True)
class Faded:
    """Old episodes by id, each with all chunks of its text."""

    faint: Sequence[Sequence[str]]
    lasting: Sequence[Sequence[str]]
    """Those that stay, because their trail is strong enough."""
    left: int
    """How many more are faint."""


@dataclass(frozen=True, slots=True)
class _Dense:
    """What the dense side contributes to a search."""

    meaning: Pooled | Encoded | None = None
    query: NDArray[np.float32] | None = None
    degraded: str | None = None


class Episodes:
    """One agent's episodes in the memory of this instance. Safe under threads."""

    def __init__(self, store: DocumentStore, objects: ObjectStore, embedder: Embedder | None, fusion: str, root: str) -> None:
        """`root` is `agents/{uid}`."""
        self.embedder = embedder
        self.fusion = cast(Fusion, fusion)
        self.contents = Contents(store, f"{root}/episodes")
        self.log = LogView(store, root, EpisodeModel(self.contents))
        self._store = store
        self._objects = objects
        self._root = root
        self._state: EpisodeState | None = None

    def refresh(self) -> EpisodeView:
        """The episodes with every change that was acknowledged before this call. One round trip when warm."""
        state = self.log.current()
        if state is not self._state:
            self.contents.clear()
            self._state = state
        if state.index.count > 2 * state.index.living + DEAD_EPISODES:
            self.log.reload()
        return EpisodeView(self, state)

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        meaning = self._state.meaning if self._state else None
        return self.log.size + self.contents.size + (meaning.size if meaning else 0)

    def meaning(self, state: EpisodeState) -> Pooled | Encoded | None:
        """The dense side of a state, made when first asked for; None without an embedder. Raises EmbedderUnavailable."""
        embedder = self.embedder
        if embedder is None:
            return None
        with state.lock:
            if state.meaning is None:
                table = embedder.table
                if embedder.pooled and table is not None:
                    state.meaning = Pooled(state.index, table)
                else:
                    cache = VectorCache(self._store, self._objects, self._root, embedder.model_id, embedder.dimension)
                    state.meaning = Encoded(state.index, state.lock, embedder, cache, self._texts)
            return state.meaning

    def _texts(self, ids: Sequence[bytes]) -> list[str | None]:
        names = [id_text(id) for id in ids]
        episodes = self.contents.read(names)
        return [episodes[name].content if name in episodes else None for name in names]


class EpisodeView:
    """The episodes as one read sees them, with what was stored before it began at least."""

    def __init__(self, episodes: Episodes, state: EpisodeState) -> None:
        self._episodes = episodes
        self._state = state

    def search(self, search: Search) -> Found:
        """Search them. One more round trip when the episodes found are not at hand."""
        state = self._state
        dense = self._dense(search) if search.hybrid else _Dense()
        while True:
            with state.lock:
                hits = self._recall(state.index, search, dense)
                ids = [id_text(state.index.id_of(hit.number)) for hit in hits]
                coverage = dense.meaning.vectors.coverage() if dense.meaning else 1.0
            episodes = self.read(ids)
            if len(episodes) == len(ids):
                break
            # tombstones that were purged before this view heard of them: the documents are the truth
            ghosts = [id for id in ids if id not in episodes]
            state.remove(ghosts)
            self._episodes.log.drop(ghosts)
        results = [Result(episodes[id], hit.score, hit.ranks) for id, hit in zip(ids, hits, strict=True)]
        return Found(results, "hybrid" if dense.meaning else "tfidf", coverage, dense.degraded)

    def faded(self, before: int, at: int, most: int) -> Faded:
        """What consolidation looks at: the oldest `most` episodes from before a time whose trail has faded `at` another, and
        those that are older than it too and belong to a session of theirs."""
        with self._state.lock:
            return _faded(self._state.index, before, at, most)

    def read(self, ids: Sequence[str]) -> dict[str, Episode]:
        """Episodes by id, as last stored; those that are gone are left out."""
        return self._episodes.contents.read(ids)

    def _recall(self, index: Index, search: Search, dense: _Dense) -> list[Hit]:
        meaning = dense.meaning
        if isinstance(meaning, Pooled):
            meaning.catch_up()
        return recall(
            index,
            search.query,
            search.limit,
            vocabulary=meaning.vocabulary if meaning else None,
            vectors=meaning.vectors if meaning else None,
            encoded=dense.query,
            fusion=self._episodes.fusion,
            allowed=_allowed(index, search),
            trails_at=search.trails_at,
            explain=search.explain,
        )

    def _dense(self, search: Search) -> _Dense:
        try:
            meaning = self._episodes.meaning(self._state)
            return _Dense(meaning, meaning.prepare(search.query) if isinstance(meaning, Encoded) else None)
        except Unavailable as problem:
            return _Dense(degraded=problem.message)


def _allowed(index: Index, search: Search) -> NDArray[np.bool_] | None:
    """bool[index.count]: the episodes that pass the filters; None when there are none."""
    filters = (search.session_id, search.speaker, search.start, search.end, search.ids)
    if all(each is None for each in filters) and not search.labels:
        return None
    allowed = index.select(session=search.session_id, speaker=search.speaker, start=search.start, end=search.end)
    if search.ids is not None:
        among = np.zeros(index.count, np.bool_)
        numbers = index.find([id_bytes(id) for id in search.ids])
        among[numbers[numbers >= 0]] = True
        allowed &= among
    for numbers, counts in index.entries_of(term_hashes(search.labels)):
        labelled = np.zeros(index.count, np.bool_)
        labelled[numbers[counts >= META]] = True
        allowed &= labelled
    return allowed


def _faded(index: Index, before: int, at: int, most: int) -> Faded:
    columns = index.columns
    old = np.flatnonzero(index.alive & (columns.valid_at < before))
    texts: dict[int, list[int]] = {}
    for number in old[np.argsort(columns.valid_at[old], kind="stable")].tolist():
        group = int(columns.group[number])
        texts.setdefault(-group if group else number, []).append(number)
    strong = trail_weights(index, at) >= FAINT
    faint = [numbers for numbers in texts.values() if not strong[numbers].any()]
    sessions = {int(columns.session[numbers[0]]) for numbers in faint[:most]} - {0}
    lasting = [numbers for numbers in texts.values() if strong[numbers].any() and int(columns.session[numbers[0]]) in sessions]

    def ids(units: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[id_text(index.id_of(number)) for number in numbers] for numbers in units]

    return Faded(ids(faint[:most]), ids(lasting[:most]), max(0, len(faint) - most))
