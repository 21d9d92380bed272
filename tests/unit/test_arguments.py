"""Arguments as language models send them."""

from typing import Annotated, Any, Literal

import pytest
from am_server.errors import Invalid
from am_server.tools.arguments import parse
from am_server.tools.registry import READ, Arguments, Tool
from am_server.tools.schemas import input_schema, output_schema
from pydantic import AfterValidator, AliasChoices, Field
from typing_extensions import TypedDict


class Nested(TypedDict):
    name: str


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("one more would do")
    return number


class Sample(Arguments):
    query: str = Field(min_length=1, max_length=10, description="d")
    content: str = Field("", validation_alias=AliasChoices("content", "value"), description="d")
    limit: int = Field(10, ge=1, le=50, description="d")
    weight: float | None = Field(None, description="d")
    flag: bool | None = Field(None, description="d")
    mode: Literal["a", "b"] = Field("a", description="d")
    metadata: dict[str, Any] | None = Field(None, description="d")
    tags: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list, description="d")
    steps: list[str | dict[str, Any]] = Field(default_factory=list, max_length=3, description="d")
    even: Annotated[int, AfterValidator(_even)] = Field(0, description="d")
    from_: str | None = Field(None, alias="from", description="d")


class Payload(TypedDict):
    found: bool
    nested: list[Nested]


TOOL = Tool("sample", "utility", "Sample", "d", Sample, Payload, lambda call, args: {}, READ)


def parsed(**arguments: Any) -> Any:
    return parse(TOOL, {"query": "q", **arguments})


def refused(**arguments: Any) -> str:
    with pytest.raises(Invalid) as problem:
        parsed(**arguments)
    return problem.value.field


@pytest.mark.parametrize("limit", ["3", 3, 3.0, " 3 "])
def test_whole_numbers(limit):
    assert parsed(limit=limit).limit == 3


@pytest.mark.parametrize("limit", [True, "many", {}, [], 2.5, "2.5", 10**30, -1, 0, 51, float("nan"), float("inf"), "1e400"])
def test_what_is_no_limit(limit):
    assert refused(limit=limit) == "limit"


def test_null_and_the_word_null_are_absent():
    for nothing in (None, "null"):
        args = parsed(limit=nothing, metadata=nothing, tags=nothing, flag=nothing, mode=nothing)
        assert (args.limit, args.metadata, args.tags, args.flag, args.mode) == (10, None, [], None, "a")


def test_a_required_null_is_missing_but_the_word_is_text():
    assert refused(query=None) == "query"
    assert parsed(query="null").query == "null"


def test_objects_and_lists_as_json_text():
    args = parsed(metadata='{"a": [1]}', tags='["x", "y"]')
    assert (args.metadata, args.tags) == ({"a": [1]}, ["x", "y"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("metadata", '{"a": '), ("metadata", "[1]"), ("metadata", [1]), ("tags", '["a"'), ("tags", "word"), ("tags", {}),
     ("tags", [""]), ("flag", "perhaps"), ("mode", "c"), ("query", 5), ("query", ""), ("weight", "heavy"), ("weight", True)],
)  # fmt: skip
def test_nonsense_is_refused_by_name(name, value):
    assert refused(**{name: value}) == name


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("query", None, "required field missing or invalid"),
        ("query", 5, "expected text"),
        ("query", "", "must not be empty"),
        ("query", "q" * 11, "must be at most 10 characters"),
        ("limit", 0, "must be at least 1"),
        ("limit", 51, "must be at most 50"),
        ("limit", 2.5, "expected a whole number"),
        ("weight", "NaN", "expected a number"),
        ("flag", "perhaps", "expected true or false"),
        ("mode", "c", "must be 'a' or 'b'"),
        ("metadata", [1], "expected an object"),
        ("tags", {}, "expected a list"),
        ("tags", ["a", 2], "item 2: expected text"),
        ("steps", ["a", {}, 2], "item 3: expected text or an object"),
        ("steps", ["a"] * 4, "must be at most 3 items"),
        ("even", 3, "one more would do"),
    ],
)
def test_a_refusal_says_what_is_expected(name, value, reason):
    with pytest.raises(Invalid) as problem:
        parsed(**{name: value})
    assert problem.value.message == f"validation error on '{name}': {reason}"


@pytest.mark.parametrize("value", ["half \ud83d", {"a": "\udf78"}, {"\ud83d": 1}])
def test_half_a_surrogate_pair_is_refused(value):
    assert refused(metadata=value) == "metadata" if isinstance(value, dict) else refused(query=value) == "query"


def test_aliases_and_unknown_arguments():
    args = parsed(value="v", nobody="knows", **{"from": "f"})
    assert (args.content, args.from_) == ("v", "f")


def test_the_input_schema_is_plain():
    schema = input_schema(Sample)
    assert schema["required"] == ["query"]
    assert {name: prop["type"] for name, prop in schema["properties"].items()} == {
        "query": "string", "content": "string", "limit": "integer", "weight": "number", "flag": "boolean", "mode": "string",
        "metadata": "object", "tags": "array", "steps": "array", "even": "integer", "from": "string",
    }  # fmt: skip
    assert "default" not in schema["properties"]["weight"]
    assert schema["properties"]["limit"]["default"] == 10


def test_the_output_schema_allows_success_and_failure():
    schema = output_schema(Payload)
    assert set(schema) == {"type", "properties"}
    assert schema["properties"]["nested"]["items"]["properties"] == {"name": {"type": "string"}}
    assert "error" in schema["properties"]


def nested(levels: int) -> Any:
    return {} if levels == 1 else {"a": nested(levels - 1)}


def test_nesting_has_an_end():
    assert parsed(metadata=nested(64)).metadata == nested(64)
    assert refused(metadata=nested(65)) == "metadata"
    assert refused(metadata='{"a":' * 3_000 + "1" + "}" * 3_000) == "metadata"


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}'])
def test_numbers_that_no_answer_could_carry(text):
    assert refused(metadata=text) == "metadata"
