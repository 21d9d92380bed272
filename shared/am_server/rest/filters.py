"""The filter language of search and list: text in, a small syntax tree out.

    filter     = and { OR and }
    and        = not { AND not }
    not        = { NOT } ( "(" filter ")" | condition )
    condition  = field ( = | != | <> | < | <= | > | >= ) value
               | field [ NOT ] IN "(" value { "," value } ")"
               | field IS [ NOT ] NULL
    value      = 'text' | "text" | number | TRUE | FALSE | date('ISO 8601') | word

A quote inside quoted text is doubled. Keywords and the names of system fields may be in any case. User metadata is
`metadata.key` or `m.key`; a key that holds spaces, quotes, brackets or operators is written `metadata."the key"`.
`matching.matches` says what a tree means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from am_server.errors import Invalid
from am_server.rest import timestamps

MAX_DEPTH = 50
"""The deepest nesting of brackets."""

MAX_CONDITIONS = 200
"""The most conditions of one filter: each is asked of every message."""

MAX_ECHO = 40
"""The longest word that a fault repeats."""

MAX_VALUES = 5_000
"""The most values that one filter may compare with."""

FIELDS = {
    "uid": "uid",
    "id": "uid",
    "episode_uid": "uid",
    "session_key": "session_key",
    "session": "session_key",
    "producer_id": "producer_id",
    "producer_role": "producer_role",
    "produced_for_id": "produced_for_id",
    "created_at": "created_at",
    "timestamp": "created_at",
    "episode_type": "episode_type",
    "content_type": "content_type",
    "content": "content",
}
"""The system fields by every name that a MemMachine server understands in list or in search."""

_INSTEAD = {"producer": "producer_id", "role": "producer_role", "produced_for": "produced_for_id"}


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment in microseconds since 1970."""

    micros: int


Value = str | int | float | bool | Instant
Operator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Field:
    """What a condition looks at: a system field, or a key of the metadata."""

    name: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """`field op value`"""

    field: Field
    op: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """`field IN (values)`"""

    field: Field
    values: frozenset[Value]
    """Of one kind: all text, all numbers, all truth values or all moments."""


@dataclass(frozen=True, slots=True)
class IsNull:
    """`field IS NULL`"""

    field: Field


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT part`"""

    part: Node


@dataclass(frozen=True, slots=True)
class All:
    """`part AND part …`"""

    parts: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Any:
    """`part OR part …`"""

    parts: Sequence[Node]


Node = Compare | OneOf | IsNull | Not | All | Any


def parse(text: str) -> Node | None:
    """The tree of a filter; None when the text is blank. Raises Invalid naming the fault and where it is."""
    tokens = _tokens(text)
    if len(tokens) == 1:
        return None
    parser = _Parser(tokens)
    tree = parser.any_of()
    parser.expect_end()
    return tree


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["text", "name", "number", "op", "mark", "word", "end"]
    text: str
    """For quoted text and names, what stands between the quotes."""
    at: int

    @property
    def keyword(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


_LEXER = re.compile(
    r"""(?P<space>\s+)
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<name>(?:[^"]|"")*)"
      | (?P<op><=|>=|<>|!=|=|<|>)
      | (?P<mark>[(),])
      | (?P<number>[+-]?\d{1,300}(?:\.\d{1,300})?(?=[\s(),=<>!'"]|$))
      | (?P<word>[^\s'"(),=<>!]+)""",
    re.VERBOSE | re.ASCII,
)
_KEYWORDS = {"AND", "OR", "NOT", "IN", "IS", "NULL"}


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _LEXER.match(text, at)
        if not found:
            _fail(_unreadable(text[at]), at)
        kind = str(found.lastgroup)
        if kind == "text":
            tokens.append(_Token("text", found["text"].replace("''", "'"), at))
        elif kind == "name":
            tokens.append(_Token("name", found["name"].replace('""', '"'), at))
        elif kind != "space":
            tokens.append(_Token(kind, found[kind], at))  # type: ignore[arg-type]
        at = found.end()
    return [*tokens, _Token("end", "", len(text))]


def _unreadable(character: str) -> str:
    if character in "'\"":
        return f"a {character} is opened and never closed; a quote inside quoted text is doubled, as in 'O''Brien'"
    return f"{character!r} has no meaning here"


def _fail(reason: str, at: int) -> NoReturn:
    raise Invalid("filter", f"{reason} (at character {at + 1})")


def _shown(token: _Token) -> str:
    """What was found. Quoted text, and words too long to be a slip, are not repeated: they may be nobody's business."""
    if token.kind == "end":
        return "the filter ends"
    if token.kind in ("text", "name"):
        return "found quoted text"
    return f"found {token.text}" if len(token.text) <= MAX_ECHO else "found a long word"


class _Parser:
    """Recursive descent over the tokens; one method for each rule of the grammar."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0
        self.conditions = 0
        self.values = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.index]

    def take(self) -> _Token:
        token = self.next
        self.index += 1
        return token

    def took(self, keyword: str) -> bool:
        """Whether the next token is this keyword or mark, which is then consumed."""
        token = self.next
        if token.keyword == keyword or (token.kind == "mark" and token.text == keyword):
            self.index += 1
            return True
        return False

    def any_of(self) -> Node:
        parts = [self.all_of()]
        while self.took("OR"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else Any(parts)

    def all_of(self) -> Node:
        parts = [self.negated()]
        while self.took("AND"):
            parts.append(self.negated())
        return parts[0] if len(parts) == 1 else All(parts)

    def negated(self) -> Node:
        negative = False
        while self.took("NOT"):
            negative = not negative
        part = self.bracketed() if self.next.text == "(" and self.next.kind == "mark" else self.condition()
        return Not(part) if negative else part

    def bracketed(self) -> Node:
        opened = self.take()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _fail(f"brackets nest deeper than {MAX_DEPTH}", opened.at)
        inner = self.any_of()
        if not self.took(")"):
            _fail(f"expected AND, OR or the ) that closes character {opened.at + 1}, {_shown(self.next)}", self.next.at)
        self.depth -= 1
        return inner

    def condition(self) -> Node:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            _fail(f"a filter may hold at most {MAX_CONDITIONS} conditions; IN takes many values at once", self.next.at)
        field, written = self.field()
        token = self.take()
        if token.kind == "op":
            return self.comparison(field, token)
        if token.keyword == "IS":
            negative = self.took("NOT")
            if not self.took("NULL"):
                _fail(f"expected {'NULL' if negative else 'NULL or NOT NULL'} after IS, {_shown(self.next)}", self.next.at)
            return Not(IsNull(field)) if negative else IsNull(field)
        negative = token.keyword == "NOT"
        if negative:
            token = self.take()
        if token.keyword != "IN":
            wanted = "IN after NOT" if negative else f"=, !=, <, <=, >, >=, IN, NOT IN or IS after {written}"
            _fail(f"expected {wanted}, {_shown(token)}", token.at)
        chosen = self.choice(field)
        return Not(chosen) if negative else chosen

    def field(self) -> tuple[Field, str]:
        """The field and how it was written."""
        token = self.take()
        if token.kind != "word" or token.keyword in _KEYWORDS:
            _fail(f"expected the name of a field such as metadata.key or producer_id, {_shown(token)}", token.at)
        scope, dot, key = token.text.partition(".")
        if dot and scope.lower() in ("metadata", "m"):
            follows = self.next
            if not key and follows.kind == "name" and follows.at == token.at + len(token.text):
                key = self.take().text
            if not key:
                _fail(f"expected a metadata key after {token.text}", token.at)
            return Field("metadata", key), f"metadata.{key}" if len(key) <= MAX_ECHO else "the field"
        known = FIELDS.get(token.text.lower())
        if not known:
            name = token.text if len(token.text) <= MAX_ECHO else "<name>"
            instead = _INSTEAD.get(name.lower(), f"metadata.{name}")
            offered = ", ".join(sorted(set(FIELDS.values())))
            _fail(f"unknown field '{name}'; did you mean {instead}? The fields are metadata.<key>, {offered}", token.at)
        return Field(known), token.text

    def comparison(self, field: Field, operator: _Token) -> Compare:
        op = "!=" if operator.text == "<>" else operator.text
        value_at = self.next.at
        value = self.value(field, operator.text)
        if isinstance(value, bool) and op not in ("=", "!="):
            _fail(f"true and false have no order; use = or != instead of {op}", value_at)
        return Compare(field, op, value)  # type: ignore[arg-type]

    def choice(self, field: Field) -> OneOf:
        if not self.took("("):
            _fail(f"expected ( after IN, {_shown(self.next)}", self.next.at)
        first_at = self.next.at
        values = [self.value(field, "IN (")]
        while self.took(","):
            values.append(self.value(field, ","))
        if not self.took(")"):
            _fail(f"expected , or ) in the list after IN, {_shown(self.next)}", self.next.at)
        if len({_family(value) for value in values}) > 1:
            _fail("the values of one IN list must be of one kind: all text, all numbers or all dates", first_at)
        return OneOf(field, frozenset(values))

    def value(self, field: Field, after: str) -> Value:
        """A literal, converted to what the field holds."""
        token = self.take()
        self.values += 1
        if self.values > MAX_VALUES:
            _fail(f"a filter may hold at most {MAX_VALUES} values", token.at)
        literal = self.literal(token, after)
        if field.name != "created_at" or isinstance(literal, Instant):
            return literal
        if isinstance(literal, bool):
            _fail("created_at is compared with a time such as date('2024-02-15')", token.at)
        return _instant(literal, token.at)

    def literal(self, token: _Token, after: str) -> Value:
        if token.kind in ("text", "name"):
            return token.text
        if token.kind == "number":
            return float(token.text) if "." in token.text else int(token.text)
        if token.kind != "word" or token.keyword in _KEYWORDS:
            hint = "; absence is tested with IS NULL" if token.keyword == "NULL" else ""
            _fail(f"expected a value after {after}, {_shown(token)}{hint}", token.at)
        if token.keyword in ("TRUE", "FALSE"):
            return token.keyword == "TRUE"
        if token.keyword == "DATE" and self.took("("):
            moment = self.take()
            if moment.kind != "text" or not self.took(")"):
                _fail("expected date('ISO 8601 time')", token.at)
            return _instant(moment.text, moment.at)
        return token.text

    def expect_end(self) -> None:
        if self.next.kind != "end":
            _fail(f"expected AND, OR or the end of the filter, {_shown(self.next)}", self.next.at)


def _family(value: Value) -> str:
    if isinstance(value, str | bool | Instant):
        return type(value).__name__
    return "number"


def _instant(written: str | int | float, at: int) -> Instant:
    try:
        return Instant(timestamps.read(written))
    except ValueError as problem:
        _fail(f"this is no time: {problem}", at)


def fields_of(node: Node) -> frozenset[str]:
    """The names of the fields that a filter looks at."""
    if isinstance(node, All | Any):
        return frozenset(name for part in node.parts for name in fields_of(part))
    if isinstance(node, Not):
        return fields_of(node.part)
    return frozenset({node.field.name})
