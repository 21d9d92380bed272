"""The episode index of one agent in memory: blocks side by side, with what links episodes across them.

Episodes are numbered in the order they were added and keep their number while the index lives. Not safe under threads:
whoever owns an index lets one caller in at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from am_server.memory.blocks import COLUMN_TYPES, Block, Columns, build, merge
from am_server.memory.postings import Postings, join
from am_server.memory.tokens import tokens

_MERGE_BELOW = 4_096
"""Blocks of fewer episodes are merged in memory with their neighbours, so that a growing tail stays a few blocks."""

Numbers = NDArray[np.int64]
Entries = tuple[Numbers, NDArray[np.uint8]]
"""The episodes that hold a term, and their counts."""


class Part:
    """The inverted lists of a stretch of episodes, which they number from 0."""

    __slots__ = ("count", "postings", "serial", "start")

    _serials = itertools.count()

    def __init__(self, start: int, count: int, postings: Postings) -> None:
        self.start, self.count, self.postings = start, count, postings
        self.serial = next(Part._serials)
        """Never given twice: whoever derives something from parts knows which it has seen."""


class Index:
    """All episodes of an agent, ready to be searched."""

    def __init__(self) -> None:
        self.count = 0
        """Episodes ever added; numbers run from 0 to count - 1."""
        self.parts: list[Part] = []
        self.sessions: dict[str, int] = {"": 0}
        self.speakers: dict[str, int] = {"": 0}
        self.speaker_terms: list[list[str]] = []
        """The terms of each speaker's name, as far as `speakers_by_term` has read them."""
        self._speakers_by_term: dict[str, list[int]] = {}
        self._groups: dict[bytes, int] = {b"\0" * 16: 0}
        self._columns = {name: np.zeros((0, 16) if name == "ids" else 0, kind) for name, kind in COLUMN_TYPES.items()}
        self._alive = np.zeros(0, np.bool_)
        self._links = np.zeros((2, 0), np.int32)
        self._relinked = np.zeros(0, np.bool_)
        self._columns_view: Columns | None = None
        self.changes = 0
        """Rises with every change; whoever keeps something derived from the index compares it."""

    # ------------------------------------------------------------------ reading

    @property
    def columns(self) -> Columns:
        """What is known of each episode; arrays of length `count`. Writing to `trail` is `set_trail`'s business."""
        if self._columns_view is None:
            self._columns_view = Columns(**{name: array[: self.count] for name, array in self._columns.items()})
        return self._columns_view

    @property
    def alive(self) -> NDArray[np.bool_]:
        """bool[count]: not removed."""
        return self._alive[: self.count]

    @property
    def living(self) -> int:
        """How many episodes are not removed."""
        return int(np.count_nonzero(self.alive))

    @property
    def previous(self) -> NDArray[np.int32]:
        """int32[count]: the episode before in the same session; `count` or more where there is none."""
        return self._links[0, : self.count]

    @property
    def following(self) -> NDArray[np.int32]:
        """int32[count]: the episode after in the same session; `count` or more where there is none."""
        return self._links[1, : self.count]

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about: what an owner of many indexes adds up."""
        names = sum(120 + len(name) for table in (self.sessions, self.speakers, self._groups) for name in table)
        arrays = (*self._columns.values(), self._alive, self._relinked, self._links)
        return names + sum(a.nbytes for a in arrays) + sum(part.postings.nbytes for part in self.parts)

    def id_of(self, number: int) -> bytes:
        """The 16 bytes of an episode's id."""
        return bytes(self._columns["ids"][number].tobytes())

    def find(self, ids: Sequence[bytes]) -> Numbers:
        """int64[len(ids)]: the number of the living episode with each id, or -1."""
        if not ids or not self.count:
            return np.full(len(ids), -1, np.int64)
        heads = self._heads()
        wanted = np.frombuffer(b"".join(ids), "<u8").reshape(-1, 2)[:, 0]
        at = np.flatnonzero(np.isin(heads, wanted) & self.alive)
        known = {self.id_of(number): number for number in at.tolist()}
        return np.array([known.get(id_, -1) for id_ in ids], np.int64)

    def select(
        self, *, session: str | None = None, speaker: str | None = None, start: int | None = None, end: int | None = None
    ) -> NDArray[np.bool_]:
        """bool[count]: living episodes of this session and speaker (exact names) with start <= valid_at < end."""
        mask = self.alive.copy()
        columns = self.columns
        if session is not None:
            mask &= columns.session == self.sessions.get(session, -1) if session else np.False_
        if speaker is not None:
            mask &= columns.speaker == self.speakers.get(speaker, -1) if speaker else np.False_
        if start is not None:
            mask &= columns.valid_at >= start
        if end is not None:
            mask &= columns.valid_at < end
        return mask

    def speakers_by_term(self) -> dict[str, list[int]]:
        """For each term of a speaker's name the numbers of the speakers that have it."""
        for name in itertools.islice(self.speakers, len(self.speaker_terms), None):
            terms = list(dict.fromkeys(tokens(name)))
            for term in terms:
                self._speakers_by_term.setdefault(term, []).append(len(self.speaker_terms))
            self.speaker_terms.append(terms)
        return self._speakers_by_term

    def entries_of(self, hashes: NDArray[np.uint64]) -> list[Entries]:
        """For each term the living episodes that hold it, and their counts."""
        slices: list[list[tuple[Numbers, NDArray[np.uint8]]]] = [[] for _ in hashes]
        for part in self.parts:
            p = part.postings
            for i, at in enumerate(p.find(hashes).tolist()):
                if at >= 0:
                    lo, hi = p.offsets[at], p.offsets[at + 1]
                    slices[i].append((p.ordinals[lo:hi] + np.int64(part.start), p.counts[lo:hi]))
        return [self._living_entries(found) for found in slices]

    def take_relinked(self) -> Numbers:
        """The episodes whose neighbours changed since the last call; for the one who keeps vectors of this index."""
        numbers = np.flatnonzero(self._relinked[: self.count])
        self._relinked[numbers] = False
        return numbers

    # ------------------------------------------------------------------ changing

    def add(self, block: Block) -> int:
        """Append the episodes of a block; the number of its first one."""
        first, n = self.count, block.count
        self._grow(first + n)
        sessions, speakers = (
            _numbers(t, names) for t, names in ((self.sessions, block.sessions), (self.speakers, block.speakers))
        )
        groups = _numbers(self._groups, [row.tobytes() for row in block.groups])
        for name, array in self._columns.items():
            new = getattr(block.columns, name)
            renumbered = {"session": sessions, "speaker": speakers, "group": groups}.get(name)
            array[first : first + n] = new if renumbered is None else renumbered[new]
        self._alive[first : first + n] = True
        self.count = first + n
        self.parts.append(Part(first, n, block.postings))
        self._changed()
        self._link(np.unique(self.columns.session[first:]))
        self._merge_small()
        return first

    def remove(self, numbers: Sequence[int] | Numbers) -> None:
        """Take episodes out; they count for nothing from now on."""
        which = np.asarray(numbers, np.int64)
        self._alive[which] = False
        self._changed()
        self._link(np.unique(self.columns.session[which]))

    def set_trail(self, number: int, trail: float) -> None:
        """A new trail for an episode."""
        self._columns["trail"][number] = trail

    def export(self, first: int, last: int) -> Block:
        """The living episodes from number `first` up to but not including `last`, as a block of its own."""
        blocks, masks = [], []
        for part in self.parts:
            lo, hi = part.start, part.start + part.count
            if lo < last and hi > first:
                mask = self._alive[lo:hi].copy()
                mask[: max(0, first - lo)] = False
                mask[max(0, last - lo) :] = False
                blocks.append(self._block(part))
                masks.append(mask)
        return merge(blocks, masks) if blocks else build([])

    # ------------------------------------------------------------------ inside

    def _block(self, part: Part) -> Block:
        groups = np.frombuffer(b"".join(self._groups), np.uint8).reshape(-1, 16)
        columns = self.columns.take(slice(part.start, part.start + part.count))
        return Block(columns, part.postings, list(self.sessions), list(self.speakers), groups)

    def _changed(self) -> None:
        self._columns_view = None
        self.changes += 1

    def _heads(self) -> NDArray[np.uint64]:
        return self._columns["ids"][: self.count].reshape(-1).view("<u8")[::2]

    def _living_entries(self, found: Sequence[Entries]) -> Entries:
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        numbers = np.concatenate([n for n, _ in found])
        counts = np.concatenate([c for _, c in found])
        alive = self._alive[numbers]
        return (numbers, counts) if alive.all() else (numbers[alive], counts[alive])

    def _grow(self, size: int) -> None:
        if size <= len(self._alive):
            return
        # some slack: adding one by one stays cheap, and a large index wastes little
        room = size + max(64, size // 16) if self.count else size
        for name, array in self._columns.items():
            self._columns[name] = np.concatenate([array, np.zeros((room - len(array), *array.shape[1:]), array.dtype)])
        fresh = np.zeros(room - len(self._alive), np.bool_)
        self._alive, self._relinked = np.concatenate([self._alive, fresh]), np.concatenate([self._relinked, fresh])
        self._links = np.concatenate([self._links, np.full((2, room - self._links.shape[1]), NOBODY, np.int32)], axis=1)

    def _link(self, sessions: NDArray[np.uint32]) -> None:
        """Set who precedes whom in these sessions: by valid time, then by the time of storing."""
        touched = np.zeros(len(self.sessions), np.bool_)
        touched[sessions] = True
        touched[0] = False
        columns = self.columns
        members = np.flatnonzero(touched[columns.session])
        self._links[:, members] = NOBODY
        self._relinked[members] = True
        members = members[self.alive[members]]
        order = members[np.lexsort((columns.stored_at[members], columns.valid_at[members], columns.session[members]))]
        before, after = order[:-1], order[1:]
        same = columns.session[before] == columns.session[after]
        self._links[0, after[same]] = before[same]
        self._links[1, before[same]] = after[same]

    def _merge_small(self) -> None:
        while len(self.parts) > 1:
            a, b = self.parts[-2:]
            if a.count + b.count > _MERGE_BELOW or a.count > 2 * b.count:
                return
            numbers = np.arange(a.count + b.count, dtype=np.int64)
            merged = join([a.postings, b.postings], [numbers[: a.count], numbers[a.count :]])
            self.parts[-2:] = [Part(a.start, a.count + b.count, merged)]


NOBODY = 2**31 - 1
"""A link to no episode."""


def _numbers(table: dict[str, int] | dict[bytes, int], names: Sequence[str] | Sequence[bytes]) -> NDArray[np.uint32]:
    known: dict[str | bytes, int] = table  # type: ignore[assignment]
    return np.array([known.setdefault(name, len(known)) for name in names], np.uint32)
