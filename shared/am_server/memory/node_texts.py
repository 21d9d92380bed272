"""What the names and descriptions of a graph's nodes say: their index terms and their vectors, made when first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from am_server.memory.tokens import read_tokens

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to float32[texts, dimension], rows of unit length or zero."""


class NodeTexts:
    """Follows the nodes of one graph as it grows; a node is read again only when its description changed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: Sequence[str] = []
        self._terms: list[Mapping[str, int]] = []
        self._embedded: Sequence[str] = []
        self._vectors: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self.bytes = 0
        """About how much memory they take."""

    def terms(self, descriptions: Sequence[str]) -> Sequence[Mapping[str, int]]:
        """For each node how often each index term occurs in its description, function words left out."""
        with self._lock:
            stale = _stale(self._read, descriptions)
            if stale:
                terms = self._terms + [_NONE] * (len(descriptions) - len(self._terms))
                for node in stale:
                    self.bytes -= 100 * len(terms[node])
                    terms[node] = _counted(descriptions[node])
                    self.bytes += 100 * len(terms[node])
                self._terms, self._read = terms, _joined(self._read, descriptions)
            return self._terms

    def vectors(self, names: Sequence[str], descriptions: Sequence[str], embed: Embed) -> NDArray[np.float32]:
        """float32[len(descriptions) or more, dimension]: the meaning of each node's name and description."""
        with self._lock:
            stale = _stale(self._embedded, descriptions)
            if stale:
                fresh = embed([f"{names[node]}. {descriptions[node]}" if descriptions[node] else names[node] for node in stale])
                size = max(len(descriptions), len(self._vectors))
                vectors = np.zeros((size, fresh.shape[1]), np.float32)
                vectors[: len(self._vectors)] = self._vectors if len(self._vectors) else 0
                vectors[stale] = fresh
                self.bytes += vectors.nbytes - self._vectors.nbytes
                self._vectors, self._embedded = vectors, _joined(self._embedded, descriptions)
            return self._vectors


_NONE: Mapping[str, int] = {}


def _stale(seen: Sequence[str], now: Sequence[str]) -> list[int]:
    if seen is now:
        return []
    changed = [node for node, (old, new) in enumerate(zip(seen, now, strict=False)) if old is not new and old != new]
    return changed + list(range(len(seen), len(now)))


def _joined(seen: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    return [*now, *seen[len(now) :]] if len(seen) > len(now) else now


def _counted(text: str) -> Mapping[str, int]:
    return Counter(token.term for token in read_tokens(text, every_character=True) if not token.stop) if text else _NONE
