"""Inverted lists: for each term the episodes that hold it, as a few arrays that are searched as they lie.

A term is known by a 64-bit hash of its text; at a hundred thousand terms two of them share one with a probability
of 3e-10. Plain words are also spelled out, for whoever needs their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from am_server.memory.stopwords import STOP_WORDS
from am_server.memory.terms import Terms

Ordinals = NDArray[np.uint16] | NDArray[np.uint32]

META = 128
"""The bit of a count that says: the term is in the metadata. The other seven count it in the text."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Inverted lists of T terms and P entries; entry i of term t lies between offsets[t] and offsets[t + 1]."""

    hashes: NDArray[np.uint64]
    """uint64[T], rising."""
    offsets: NDArray[np.uint32]
    """uint32[T + 1]."""
    ordinals: Ordinals
    """uint16[P], or uint32[P] for more than 65,536 episodes: numbers of episodes, rising within a term."""
    counts: NDArray[np.uint8]
    """uint8[P]: occurrences in the text, up to 127, and META."""
    words: bytes
    """Each term's spelling, or nothing where it is no plain word; ASCII, divided by newlines."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(a.nbytes for a in (self.hashes, self.offsets, self.ordinals, self.counts)) + len(self.words)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64[len(hashes)]: the position of each term, or -1."""
        if not len(self.hashes):
            return np.full(len(hashes), -1, np.int64)
        at = np.searchsorted(self.hashes, hashes)
        at[at == len(self.hashes)] = 0
        return np.where(self.hashes[at] == hashes, at, -1)

    def term_of_entries(self) -> NDArray[np.int64]:
        """int64[P]: which term each entry belongs to."""
        return np.repeat(np.arange(len(self.hashes)), self.offsets[1:] - self.offsets[:-1])


def term_hash(term: str) -> int:
    """The 64 bits that stand for a term."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def term_hashes(terms: Iterable[str]) -> NDArray[np.uint64]:
    """uint64[n]: `term_hash` of each."""
    return np.array([term_hash(term) for term in terms], np.uint64)


def invert(rows: Sequence[Terms]) -> Postings:
    """The inverted lists of episodes 0 to len(rows) - 1."""
    numbers: dict[str, int] = {}
    entry_terms: list[int] = []
    counts: list[int] = []
    sizes: list[int] = []
    for row in rows:
        before = len(counts)
        for term, count in row.own.items():
            entry_terms.append(numbers.setdefault(term, len(numbers)))
            counts.append(count | META if term in row.meta else count)
        for term in row.meta:
            if term not in row.own:
                entry_terms.append(numbers.setdefault(term, len(numbers)))
                counts.append(META)
        sizes.append(len(counts) - before)
    hashes = term_hashes(numbers)
    order = np.argsort(hashes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    names = [_spelling(term) for term in numbers]
    ordinals = np.repeat(np.arange(len(rows), dtype=np.uint32), sizes)
    spelled = [names[i] for i in order]
    return _arrange(hashes[order], rank[np.array(entry_terms, np.int64)], ordinals, np.array(counts, np.uint8), spelled)


def join(parts: Sequence[Postings], renumber: Sequence[NDArray[np.int64]]) -> Postings:
    """One set of lists out of several. `renumber[i]` gives for each old number of part i the new one, or -1 to drop it.

    New numbers must rise from part to part and within each part.
    """
    hashes, place = np.unique(np.concatenate([part.hashes for part in parts]), return_inverse=True)
    terms, ordinals, counts, spelled, start = [], [], [], [""] * len(hashes), 0
    for part, numbers in zip(parts, renumber, strict=True):
        at = place[start : start + len(part.hashes)]
        start += len(part.hashes)
        new = numbers[part.ordinals]
        kept = new >= 0
        terms.append(at[part.term_of_entries()[kept]])
        ordinals.append(new[kept].astype(np.uint32))
        counts.append(part.counts[kept])
        for position, word in zip(at, words_of(part), strict=True):
            if word:
                spelled[position] = word
    return _arrange(hashes, np.concatenate(terms), np.concatenate(ordinals), np.concatenate(counts), spelled)


def compact(ordinals: NDArray[np.unsignedinteger[Any]]) -> Ordinals:
    """The same numbers in two bytes each if they fit: most of an index's memory is these."""
    if int(ordinals.max(initial=0)) < 1 << 16:
        return ordinals.astype(np.uint16)
    return ordinals.astype(np.uint32)


def words_of(part: Postings) -> list[str]:
    """Each term's spelling, or "" where it is no plain word."""
    return part.words.decode().split("\n") if len(part.hashes) else []


def _spelling(term: str) -> str:
    return term if term.isascii() and term.isalpha() and len(term) > 1 and term not in STOP_WORDS else ""


def _arrange(
    hashes: NDArray[np.uint64],
    terms: NDArray[np.int64],
    ordinals: NDArray[np.unsignedinteger[Any]],
    counts: NDArray[np.uint8],
    spelled: Sequence[str],
) -> Postings:
    """Sort entries by term, keep the order of episodes within, and drop terms without entries."""
    order = np.argsort(terms, kind="stable")
    sizes = np.bincount(terms, minlength=len(hashes))
    used = sizes > 0
    offsets = np.concatenate([[0], np.cumsum(sizes[used])]).astype(np.uint32)
    words = "\n".join(word for word, use in zip(spelled, used.tolist(), strict=True) if use)
    return Postings(hashes[used], offsets, compact(ordinals[order]), counts[order], words.encode())
