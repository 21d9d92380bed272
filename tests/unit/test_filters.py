"""The filter language: what it lets through, what it refuses and why."""

import contextlib

import pytest
from am_server.errors import Invalid
from am_server.rest import filters, timestamps
from am_server.rest.matching import matches, truth
from hypothesis import given
from hypothesis import strategies as st


def row(metadata=None, **fields):
    system = {"uid": "u-1", "session_key": "org/project", "producer_id": "Alice", "producer_role": "user", "produced_for_id": ""}
    stamp = {"created_at": timestamps.read("2024-02-10T12:00:00Z"), "episode_type": "message", "content_type": "string"}
    return {**system, **stamp, "content": "hello", "metadata": metadata or {}, **fields}


def passes(text, **fields):
    return matches(filters.parse(text), row(**fields))


U1 = {"user": "u1", "lang": "de", "n": "5", "flag": "True", "when": "2024-01-02"}
U1 |= {"user-id": "x", "größe": "8", "a.b": "dot", "user id": "y"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "metadata.user='u1'",
        "m.user = u1",
        "M.user = 'u1'",
        'm.user = "u1"',
        "metadata.user<>'u2'",
        "metadata.user != 'u2'",
        "metadata.user IN ('u1','u2')",
        "metadata.user not in ('u3')",
        "metadata.user in (u3, u1)",
        "metadata.nothing IS NULL",
        "metadata.user is not null",
        "NOT metadata.nothing IS NOT NULL",
        "NOT NOT metadata.user='u1'",
        "metadata.n=5",
        "metadata.n = 5.0",
        "metadata.n>=4.5 and m.n < 10",
        "metadata.n in (1, 5)",
        "metadata.n in (1, 5.0)",
        "metadata.flag in (true)",
        "metadata.when in (date('2024-01-02'))",
        "metadata.n='5'",
        "metadata.flag = true",
        "metadata.flag != false",
        "metadata.when = date('2024-01-02T00:00:00Z')",
        "metadata.when < date('2024-01-02T00:00:01')",
        "metadata.user-id = 'x'",
        "metadata.größe = 8",
        "metadata.a.b = 'dot'",
        "metadata.\"user id\" = 'y'",
        "metadata.\"a.b\" = 'dot'",
        "producer_id = 'Alice' AND producer_role = user",
        "PRODUCER_ID = 'Alice'",
        "produced_for_id = ''",
        "session_key='org/project'",
        "session='org/project'",
        "uid='u-1'",
        "id='u-1' and episode_uid='u-1'",
        "episode_type='message' and content_type=string",
        "content='hello'",
        "created_at > '2024-02-09'",
        "created_at > 2024-02-09",
        "created_at > date('2024-02-10T12:59:00+01:00')",
        "created_at = date('2024-02-10T12:00:00')",
        "timestamp < 1707566401",
        "created_at < 1707566401000",
        "created_at in ('2024-02-10T12:00:00Z')",
        "m.user='no' or m.lang='de' and m.user='u1'",
        "(m.user='no' or m.lang='de') and m.user='u1'",
        "m.user='u1' or m.user='no' and m.lang='no'",
        "not (m.user='u2')",
        "((((m.user='u1'))))",
    ],
)
def test_lets_through(text):
    assert passes(text, metadata=U1)


@pytest.mark.parametrize(
    "text",
    [
        "metadata.user='u2'",
        "metadata.user='U1'",
        "metadata.nothing='x'",
        "metadata.nothing!='x'",
        "NOT metadata.nothing='x'",
        "metadata.nothing NOT IN ('x')",
        "NOT metadata.nothing IN ('x')",
        "metadata.user=5",
        "metadata.user!=5",
        "metadata.user != date('2024-01-01')",
        "metadata.n > '10' and metadata.n < '10'",
        "metadata.n=6",
        "producer_id='alice'",
        "created_at > date('2024-02-10T12:00:00')",
        "created_at is null",
        "(m.user='u1' or m.user='u2') and producer_id='Bob'",
    ],
)
def test_keeps_out(text):
    assert not passes(text, metadata=U1)


def test_a_quote_inside_quoted_text_is_doubled():
    assert passes("metadata.user = 'O''Brien'", metadata={"user": "O'Brien"})
    assert passes("producer_id = ''''", producer_id="'")
    assert passes('metadata."say ""hi""" = 1', metadata={'say "hi"': "1"})


@pytest.mark.parametrize(
    ("text", "reason", "at"),
    [
        ("producer_id =", "expected a value after =, the filter ends", 14),
        ("user_id='u1'", "did you mean metadata.user_id?", 1),
        ("  producer='x'", "did you mean producer_id?", 3),
        ("metadata.user LIKE 'u%'", "found LIKE", 15),
        ("metadata.user NOT LIKE 'u%'", "expected IN after NOT, found LIKE", 19),
        ("(((", "expected the name of a field", 4),
        ("(m.a=1", "the ) that closes character 1", 7),
        ("m.a=1)", "expected AND, OR or the end", 6),
        ("m.a='x", "never closed", 5),
        (r"m.a='O\'Brien'", "never closed", 14),
        ("m.a == 1", "expected a value after =, found =", 6),
        ("m.a && m.b", "found &&", 5),
        ("m.a=1 m.b=2", "found m.b", 7),
        ("m.a=1 AND", "expected the name of a field", 10),
        ("AND m.a=1", "expected the name of a field", 1),
        ("m.a=NULL", "IS NULL", 5),
        ("m.a IS 5", "expected NULL or NOT NULL", 8),
        ("m.a IN ()", "expected a value", 9),
        ("m.a IN 'x'", "expected ( after IN", 8),
        ("m.a IN ('x'", "expected , or )", 12),
        ("m.a IN (1,'x')", "one kind", 9),
        ("m. = 1", "expected a metadata key", 1),
        ("m.a > true", "have no order", 7),
        ("created_at > 'yesterday'", "is no time", 14),
        ("created_at = true", "compared with a time", 14),
        ("m.a = date(5)", "expected date('ISO 8601 time')", 7),
        ("m.a = date('soon')", "is no time", 12),
        ("m.a ! 1", "'!' has no meaning", 5),
        ("'a' = 'a'", "expected the name of a field", 1),
        ("(" * 51 + "m.a=1", "nest deeper", 51),
        ("m.a IN (" + "1," * 5000 + "1)", "at most 5000 values", 10009),
        ("m.a=1 OR " * 200 + "m.a=1", "at most 200 conditions", 1801),
    ],
    ids=lambda value: str(value)[:30],
)
def test_refuses_and_says_what_and_where(text, reason, at):
    with pytest.raises(Invalid) as refused:
        filters.parse(text)
    assert refused.value.field == "filter"
    assert reason in refused.value.reason
    assert f"(at character {at})" in refused.value.reason


@pytest.mark.parametrize(
    "text", ["m.a 'kestrelnoodle'", "m.a = 'x' \"kestrelnoodle\"", f"m.a {'kestrelnoodle' * 4}", "kestrelnoodle" * 4]
)
def test_a_fault_does_not_repeat_what_may_be_secret(text):
    with pytest.raises(Invalid) as refused:
        filters.parse(text)
    assert "kestrel" not in refused.value.message


KEYS = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from(["x", "y", "O'Brien", "", "and"])
ATOMS = st.one_of(
    st.tuples(st.just("="), KEYS, TEXTS),
    st.tuples(st.just("!="), KEYS, TEXTS),
    st.tuples(st.just("<"), KEYS, TEXTS),
    st.tuples(st.just("in"), KEYS, st.lists(TEXTS, min_size=1, max_size=3)),
    st.tuples(st.just("null"), KEYS),
)
TREES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner), st.tuples(st.just("and"), inner, inner), st.tuples(st.just("or"), inner, inner)
    ),
    max_leaves=8,
)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def written(tree):
    kind, *parts = tree
    if kind == "not":
        return f"NOT ({written(parts[0])})"
    if kind in ("and", "or"):
        return f"({written(parts[0])}) {kind} ({written(parts[1])})"
    if kind == "null":
        return f"m.{parts[0]} IS NULL"
    if kind == "in":
        return f"m.{parts[0]} IN ({', '.join(map(quoted, parts[1]))})"
    return f"metadata.{parts[0]} {kind} {quoted(parts[1])}"


def expected(tree, metadata):
    """Kleene's logic with 0, ½ and 1: AND is the minimum, OR the maximum, NOT the complement."""
    kind, *parts = tree
    if kind == "not":
        return 1 - expected(parts[0], metadata)
    if kind == "and":
        return min(expected(part, metadata) for part in parts)
    if kind == "or":
        return max(expected(part, metadata) for part in parts)
    held = metadata.get(parts[0])
    if kind == "null":
        return float(held is None)
    if held is None:
        return 0.5
    return float({"=": held == parts[1], "!=": held != parts[1], "<": held < str(parts[1]), "in": held in parts[1]}[kind])


@given(TREES, st.dictionaries(KEYS, TEXTS))
def test_agrees_with_a_three_valued_reference(tree, metadata):
    found = truth(filters.parse(written(tree)), row(metadata))
    assert {True: 1, None: 0.5, False: 0}[found] == expected(tree, metadata)


@given(st.text(alphabet="ma.b='\"()<>!, \tINandORotnul12é", max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(Invalid):
        matches(filters.parse(text), row())
