"""Texts in the portions that a provider takes, and its answer checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from am_server.embed.port import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Fetch = Callable[[Sequence[str]], "NDArray[np.float32]"]


def embed_in_batches(
    texts: Sequence[str], fetch: Fetch, *, dimension: int, most_texts: int, most_chars: int, cut_at: int
) -> NDArray[np.float32]:
    """float32[len(texts), dimension] of unit length; blank texts, which providers refuse, stay zeros and are not sent.

    `fetch` gets at most `most_texts` texts of together about `most_chars` characters, each cut at `cut_at`. Raises
    EmbedderUnavailable when it returns another shape, or numbers that are none.
    """
    import numpy as np

    out = np.zeros((len(texts), dimension), np.float32)
    sent = [(i, text[:cut_at]) for i, text in enumerate(texts) if text.strip()]
    for batch in _batches(sent, most_texts, most_chars):
        rows = fetch([text for _, text in batch])
        if rows.shape != (len(batch), dimension):
            raise EmbedderUnavailable(f"expected {len(batch)} vectors of {dimension} dimensions, got the shape {rows.shape}")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbedderUnavailable("the embedding provider sent vectors without a direction")
        out[[i for i, _ in batch]] = rows / lengths
    return out


def _batches(texts: Sequence[tuple[int, str]], most_texts: int, most_chars: int) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    chars = 0
    for item in texts:
        if batch and (len(batch) == most_texts or chars + len(item[1]) > most_chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += len(item[1])
    if batch:
        yield batch
