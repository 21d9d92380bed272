"""Cutting long text into chunks that overlap, at the ends of sentences and lines where there are any."""

from __future__ import annotations

import re

_END = re.compile(r"""\n+|[.!?…]+["'”’)\]]*\s+|[。！？｡]+[」』”’）]*|\s+""")
"""Where text may be cut, the better places told apart by `_rank`."""

SLACK = 0.4
"""The share of a chunk, at its end, in which a good place to cut is looked for."""


def chunks(text: str, size: int, overlap: int) -> list[str]:
    """The text in order as chunks of at most `size` characters, each beginning about `overlap` before the last one ended.

    Every character is in a chunk. `overlap` is at most half of `size`.
    """
    found: list[str] = []
    start = 0
    while len(text) - start > size:
        end = _best_cut(text, max(start + 1, start + int(size * (1 - SLACK))), start + size)
        found.append(text[start:end])
        start = max(start + 1, _best_cut(text, end - overlap, end - overlap // 2)) if overlap else end
    return [*found, text[start:]]


def _best_cut(text: str, first: int, last: int) -> int:
    """The last of the best places to cut in first..last: after a line, else a sentence, else a word, else at `last`."""
    best, place = 0, last
    for end in _END.finditer(text, max(0, first - 1), last):
        if end.end() >= first and (rank := _rank(end[0])) >= best:
            best, place = rank, end.end()
    return place


def _rank(end: str) -> int:
    if "\n" in end:
        return 3
    return 1 if end.isspace() else 2
