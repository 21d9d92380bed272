"""Statements: the sentences of a message, each with a category, by fixed rules and without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

_TITLES = {"mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr"}
_MONTHS = {"jan", "feb", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec"}
_ABBREVIATIONS = (
    _TITLES | _MONTHS | {"vs", "etc", "e.g", "i.e", "eg", "ie", "cf", "approx", "dept", "est", "fig", "inc", "ltd", "vol"}
)
_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’)\]]*+(?=\s)|[。！？｡]+[」』”’）]*|\n+""")
_BLANKS = re.compile(r"\s*")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without blanks around them and without pieces that hold no letter or digit.

    A sentence ends at `.`, `!`, `?` or `…` before a blank, at the full stops of Chinese and Japanese, and at a line's end.
    The dot of an abbreviation, of an initial or of a number at a line's beginning ends none, nor does a mark inside quotes
    or brackets after which the text goes on in lower case. Every character is looked at a few times at most, however long
    a sentence, a word or a run of marks is.
    """
    found = []
    start = 0
    first_word: int | None = None
    for mark in _END.finditer(text):
        end = mark.end()
        word = _word_before_dot(text, start, end)
        if word is not None and first_word is None:
            first_word = _blanks_end(text, start)
        if not _goes_on(text, end, word, word == first_word):
            found.append(text[start:end])
            start, first_word = end, None
    pieces = (piece.strip() for piece in (*found, text[start:]))
    return [piece for piece in pieces if any(character.isalnum() for character in piece)]


def _blanks_end(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start


def _word_before_dot(text: str, start: int, end: int) -> int | None:
    """Where the word begins whose dot is the last character before `end` (or before one line's end there), if there is one."""
    dot = end - 2 if text[end - 1] == "\n" else end - 1
    if dot <= start or text[dot] != "." or text[dot - 1].isspace():
        return None
    begin = dot
    while begin > start and not text[begin - 1].isspace():
        begin -= 1
    return begin


def _goes_on(text: str, end: int, begin: int | None, first: bool) -> bool:
    """Whether the mark before `end` ends no sentence.

    `begin` is where the word before a dot begins, and `first` whether that is the first word of the sentence.
    """
    lower = text[end + 1 : end + 2].islower()
    if text[end - 1] in "\"'”’)]":
        return lower
    if begin is None:
        return False
    word = text[begin:end].rstrip("\n")[:-1].lstrip("\"'“‘([").lower()
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i"):
        return True
    return (first and word.isdigit()) or (lower and "." in word and word.replace(".", "").isalpha())


_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_RULES = tuple(
    (category, re.compile(pattern, re.IGNORECASE))
    for category, pattern in (
        ("question", r"""[?？]["'”’)\]」』）]*$"""),
        (
            "preference",
            r"\b(likes?|liked|loves?|loved|enjoy(s|ed)?|prefer(s|red)?|hates?|hated|dislikes?|disliked|favou?rite"
            r"|fond of|can(no|['’])?t stand|would rather|['’]d rather)\b",
        ),
        (
            "plan",
            r"\b(will|won['’]t|going to|gonna|plan(s|ning)? (to|on)|intends? to|hop(e|es|ing) to|wants? to|looking forward"
            rf"|tomorrow|next (week|weekend|month|year|summer|winter|spring|autumn|fall|{_DAY}|{_MONTH}))\b|['’]ll\b",
        ),
        (
            "event",
            r"\b(yesterday|today|tonight|this (morning|afternoon|evening|week|weekend|month|year)|ago|(18|19|20)\d\d"
            rf"|last (night|week|weekend|month|year|summer|winter|spring|autumn|fall|{_DAY}|{_MONTH})"
            rf"|on ({_DAY})|(in|on|since|until|till) ({_MONTH})|({_MONTH}) \d{{1,2}}|\d{{1,2}}(st|nd|rd|th)? ({_MONTH})"
            r"|\d{4}-\d\d-\d\d)\b",
        ),
        ("profile", r"\b(i am|i['’]m|my|mine|i (live|work|study|speak|own|have|was born|grew up)|i['’]ve|we are|we['’]re|our)\b"),
    )
)
CATEGORIES = (*(category for category, _ in _RULES), "fact")
"""Every category, in the order in which its rule is tried; `fact` is what no rule claims."""


def category(sentence: str) -> str:
    """The first category whose cue words (English) or mark the sentence has."""
    return next((name for name, cue in _RULES if cue.search(sentence)), "fact")


_WORD = re.compile(r"\w+(?:[.'’-]\w+)*")


def title(sentence: str) -> str:
    """What the statement begins with: its first six words in lower case."""
    return " ".join(_WORD.findall(sentence)[:6]).lower()


def relevance(query: Sequence[str], statements: Sequence[Sequence[str]]) -> list[float]:
    """For each statement, given by its terms, the part of the query's terms that it holds, weighted by their rarity: 0 to 1.

    The weight of a term is ln(1 + (N - df + .5) / (df + .5)) over the statements given (Robertson and Spärck Jones, in the
    form Lucene uses). Without query terms every statement gets 0.
    """
    wanted = set(query)
    held = [wanted.intersection(terms) for terms in statements]
    holding = Counter(term for terms in held for term in terms)
    weights = {term: log(1 + (len(statements) - holding[term] + 0.5) / (holding[term] + 0.5)) for term in wanted}
    total = sum(weights.values())
    return [sum(weights[term] for term in sorted(terms)) / total if total else 0.0 for terms in held]
