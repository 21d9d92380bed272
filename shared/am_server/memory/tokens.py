"""Text to index terms: the same reading of a text when it is written and when it is asked for.

A term is a Snowball stem for words of the Latin script, a pair of characters for scripts without spaces, and the
word itself otherwise. Identifiers (`POL-358`, `GB/s`, `user@example.com`) count as a whole and as their parts.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from am_server.memory.stopwords import STOP_WORDS

MAX_TERM_CHARS = 64
"""Longer words are cut here, alike in texts and in queries."""

# Marks that belong to the letter before them; Python's \w leaves them out and would tear Thai or Hindi words apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0983\u09bc-\u09d7"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd"
    "\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3"
)
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Kana, Hangul, Thai, Lao, Myanmar, Khmer: words are not divided by spaces, or carry their particles with them.
_DENSE = _HAN + "\u3041-\u30ff\u31f0-\u31ff\uac00-\ud7a3\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3"
# Some marks are letters too, so "a letter and its marks, repeated" could read a run of them in exponentially many ways.
# One class for all that may follow the first letter, taken whole and never given back, reads each character once.
_LETTERS = rf"[^\W_](?:(?!_)[\w{_MARKS}])*+"
_WORD = re.compile(
    rf"{_LETTERS}(?:\+\+|#)(?![\w+#])"  # C++, F#
    rf"|{_LETTERS}(?:(?:['.:/\\@+-]|_+|://|:\\){_LETTERS})*+"
    r"|[\U0001f300-\U0001faff\u2600-\u27bf]"
)
_PART = re.compile(_LETTERS)
_DENSE_RUN = re.compile(rf"([{_DENSE}]+)")
_HAN_CHAR = re.compile(f"[{_HAN}]")
_CLITIC = re.compile(r"'(?:s|ll|ve|re|d|m)$")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STEMMABLE = re.compile("[a-z]{3,}")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_local = threading.local()


@dataclass(frozen=True, slots=True)
class Token:
    """One occurrence of an index term."""

    term: str
    stop: bool
    """A function word."""
    counts: bool = True
    """Whether it adds to the length of a text: parts of an identifier and single characters inside a run do not."""


def tokens(text: str) -> list[str]:
    """The terms to search with: what the text is about, or its function words when it has nothing else.

    Terms come in the order of the text, repetitions included.
    """
    read = list(read_tokens(text, every_character=False))
    return [token.term for token in read if not token.stop] or [token.term for token in read]


def content_terms(text: str) -> list[str]:
    """As `tokens`, without the fallback to function words and without repetitions."""
    return list(dict.fromkeys(token.term for token in read_tokens(text, every_character=False) if not token.stop))


def read_tokens(text: str, every_character: bool) -> Iterator[Token]:
    """Every token of a text, function words included.

    With `every_character` each Han character is also a token of its own, so that a question of one character finds
    it in the middle of a run; texts are indexed that way, queries are not asked that way.
    """
    for match in _WORD.finditer(normalise(text)):
        yield from _read_word(match[0], every_character)


def normalise(text: str) -> str:
    """NFKC and case folding: both spellings of é, full-width forms and STRASSE meet."""
    if text.isascii():
        return _THOUSANDS.sub("", text.lower())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _THOUSANDS.sub("", text.replace("’", "'").replace("ʼ", "'"))


def stems(words: Iterable[str]) -> list[str]:
    """Snowball English stems (Porter2, https://snowballstem.org/algorithms/english/stemmer.html)."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer  # a C extension that a process without texts never needs; one object serves one thread

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return cast("list[str]", cast(Any, stemmer).stemWords(list(words)))


def _read_word(word: str, every_character: bool) -> Iterator[Token]:
    word = _CLITIC.sub("", word)
    if word in STOP_WORDS:
        yield Token(word, True)
        return
    if not word.isascii() and _DENSE_RUN.search(word):
        for run in _DENSE_RUN.split(word):
            if run and _DENSE_RUN.fullmatch(run):
                yield from _pairs(run, every_character)
            elif run:
                yield from (token for part in _PART.findall(run) for token in _plain(part))
        return
    parts = _PART.findall(word)
    if len(parts) <= 1:
        yield from _plain(word)
        return
    if "'" in word and all(part.isalpha() for part in parts):
        parts = [word.replace("'", "")]
    yield Token(word[:MAX_TERM_CHARS], False)
    date = _ISO_DATE.fullmatch(word)
    if date and 1 <= int(date[2]) <= 12:
        parts = [date[1], MONTHS[int(date[2]) - 1], str(int(date[3]))]
    for part in parts:
        for token in _plain(part):
            yield Token(token.term, token.stop, counts=False)


def _plain(word: str) -> Iterator[Token]:
    yield Token(_term(word[:MAX_TERM_CHARS]), word in STOP_WORDS)


@lru_cache(maxsize=16_384)
def _term(word: str) -> str:
    if not word.isascii():
        word = _without_accents(word)
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
    return stems([word])[0] if _STEMMABLE.fullmatch(word) else word


def _without_accents(word: str) -> str:
    """Latin letters without their marks, so that `cafe` finds `café`; other scripts keep theirs, which tell words apart."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return bare if bare.isascii() else word


def _pairs(run: str, every_character: bool) -> Iterator[Token]:
    if len(run) == 1:
        yield Token(run, False)
        return
    for i in range(len(run) - 1):
        yield Token(run[i : i + 2], False)
    if every_character:
        yield from (Token(c, False, counts=False) for c in run if _HAN_CHAR.match(c))
