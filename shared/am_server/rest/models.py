"""Bodies of the /api/v2 routes: what is required, what is assumed, and how every fault is named at once.

Unknown keys are ignored, as a MemMachine server ignores them. Text, metadata and names are strict; whole numbers may
be spelt as text or with a zero fraction.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from am_server.errors import AmError
from am_server.rest import timestamps

MAX_CONTENT_BYTES = 400_000
"""UTF-8 bytes of one message; with its index it stays one document."""

MAX_METADATA_BYTES = 16_000
"""UTF-8 bytes of a message's metadata, keys and values together."""

MAX_NAME_BYTES = 8_000
"""UTF-8 bytes of a producer, a recipient or a role."""

MAX_PAGE = 1_000
"""Episodes of one page of a list."""

MAX_TOP_K = 1_000
"""Hits of one search; a larger `top_k` is taken as this."""

_MOST_FAULTS = 50
_MOST_ECHOED = 40


class Refused(AmError):
    """A body that cannot be used: the text names each field at fault."""

    code, type, status = -32004, "validation_error", 422


class TooBig(Refused):
    """A body that could be used if it were smaller."""

    status = 413


def _whole_characters(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    return value


def _name(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    if not all(character in "_:-" or unicodedata.category(character)[0] in "LN" for character in value):
        raise ValueError("may hold only letters, numbers, _, : and -; accents must be composed (NFC), and there is no / or space")
    if len(value) > 300:
        raise ValueError("must have at most 300 characters")
    return value


def _uuid(value: str) -> str:
    try:
        return str(uuid.UUID(value))
    except ValueError:
        raise ValueError("must be a UUID, as add and list return it") from None


def _metadata(value: Mapping[str, str]) -> Mapping[str, str]:
    if "" in value:
        raise ValueError("a key must not be empty")
    if sum(len(key.encode()) + len(text.encode()) for key, text in value.items()) > MAX_METADATA_BYTES:
        raise ValueError(f"must have at most {MAX_METADATA_BYTES} bytes")
    return value


Text = Annotated[str, Field(strict=True), AfterValidator(_whole_characters)]
Who = Annotated[Text, Field(max_length=MAX_NAME_BYTES // 4)]
Name = Annotated[str, Field(strict=True), AfterValidator(_name)]
EpisodeId = Annotated[str, Field(strict=True), AfterValidator(_uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
Metadata = Annotated[dict[Text, Text], AfterValidator(_metadata)]
Moment = Annotated[
    int,
    PlainValidator(timestamps.read),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
MemoryType = Literal["episodic", "semantic"]
Count = Annotated[int, BeforeValidator(lambda value: int(value) if isinstance(value, bool) else value)]
Anything = Annotated[dict[str, Any] | None, Field(description="Accepted and not used.")]


class Body(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Named(Body):
    """A body about a project that must be named."""

    org_id: Name = Field(description="Organisation: letters, numbers, _, : and -.")
    project_id: Name = Field(description="Project within the organisation: letters, numbers, _, : and -.")


class Placed(Named):
    """A body about a project; without names it is the project `universal` of `universal`."""

    org_id: Name = Field("universal", description="Organisation: letters, numbers, _, : and -.")
    project_id: Name = Field("universal", description="Project within the organisation: letters, numbers, _, : and -.")


class Message(Body):
    """One message to remember."""

    content: Text = Field(description=f"What was said; at most {MAX_CONTENT_BYTES} bytes of UTF-8.")
    producer: Who = Field("user", description="Who said it.")
    produced_for: Who = Field("", description="To whom it was said.")
    role: Who = Field("", description="The role of who said it, e.g. user or assistant.")
    metadata: Metadata = Field(default_factory=dict, description="Text by key; filters find it as metadata.<key>.")
    episode_type: Literal["message"] | None = Field(None, description="The one type there is.")
    timestamp: Moment | None = Field(
        None,
        description="When it was said: ISO 8601 (UTC without a zone), or seconds, or from 10^12 on milliseconds since 1970.",
    )


class AddMemories(Placed):
    """Messages to remember, all or none."""

    messages: list[Message] = Field(min_length=1, description="In the order in which they were said.")
    types: list[MemoryType] = Field(
        default_factory=list, description="episodic: found by search as messages; semantic: as statements; both when empty."
    )


class SearchMemories(Placed):
    """A question to the memory of a project."""

    query: Text = Field(description="What to look for, in words.")
    top_k: Count = Field(10, ge=1, description=f"Most hits of each type; more than {MAX_TOP_K} is taken as {MAX_TOP_K}.")
    filter: Text = Field("", description="Conditions, e.g. metadata.user = 'u1' AND created_at > date('2024-01-01').")
    set_metadata: Anything = None
    expand_context: Count = Field(0, description="Neighbours in time to add to each hit, within top_k; the order is then time.")
    score_threshold: float | None = Field(None, description="Leave out hits that score less.")
    types: list[MemoryType] = Field(default_factory=list, description="Types to search; both when empty.")
    agent_mode: bool = Field(False, description="Accepted and not used.")


class ListMemories(Placed):
    """A page of what a project remembers."""

    page_size: Count = Field(100, ge=1, le=MAX_PAGE, description="Items of a page.")
    page_num: Count = Field(0, ge=0, le=10**9, description="Which page, from 0.")
    filter: Text = Field("", description="As for search.")
    set_metadata: Anything = None
    type: MemoryType | None = Field(None, description="One type; both when absent.")


class DeleteEpisodes(Placed):
    """Messages to forget, with their statements."""

    episodic_id: EpisodeId | None = Field(None, description="One message.")
    episodic_ids: list[EpisodeId] = Field(default_factory=list, max_length=5_000, description="Several messages.")

    @property
    def ids(self) -> list[str]:
        """Each id once."""
        return list(dict.fromkeys([*([self.episodic_id] if self.episodic_id else []), *self.episodic_ids]))

    @model_validator(mode="after")
    def _some(self) -> DeleteEpisodes:
        if not self.ids:
            raise ValueError("episodic_id or episodic_ids must name at least one message")
        return self


def _optional_name(value: str) -> str:
    return _name(value) if value else value


class DeleteFeatures(Placed):
    """Statements to forget; their messages stay."""

    semantic_id: Annotated[str, Field(strict=True), AfterValidator(_optional_name)] = Field("", description="One statement.")
    semantic_ids: list[Name] = Field(default_factory=list, max_length=5_000, description="Several statements.")

    @property
    def ids(self) -> list[str]:
        """Each id once."""
        return list(dict.fromkeys([*([self.semantic_id] if self.semantic_id else []), *self.semantic_ids]))

    @model_validator(mode="after")
    def _some(self) -> DeleteFeatures:
        if not self.ids:
            raise ValueError("semantic_id or semantic_ids must name at least one statement")
        return self


class ProjectConfig(Body):
    """Names of a MemMachine server's parts: kept and given back, and without effect here."""

    backend: Literal["declarative", "event"] | None = None
    reranker: Who = ""
    embedder: Who = ""
    vector_graph_store: Who = ""
    vector_store: Who = ""
    segment_store: Who = ""
    properties_schema: dict[Who, Literal["bool", "int", "float", "str", "datetime"]] = Field(default_factory=dict)


class CreateProject(Named):
    """A project to make."""

    description: Annotated[Text, Field(max_length=4_000)] = Field("", description="For people.")
    config: ProjectConfig = Field(default_factory=ProjectConfig)


Model = TypeVar("Model", bound=Body)


@cache
def _adapter(model: type[Body]) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def read(model: type[Model], body: Any) -> Model:
    """The body as its model. Raises Refused naming every field at fault, and TooBig when only its size is."""
    if not isinstance(body, dict):
        raise Refused("body: expected a JSON object")
    try:
        read_body: Model = _adapter(model).validate_python(body)
        return read_body
    except ValidationError as problem:
        faults = problem.errors(include_url=False, include_input=False, include_context=False)
        shown = [f"{_place(fault)}: {_reason(fault)}" for fault in faults[:_MOST_FAULTS]]
        if len(faults) > _MOST_FAULTS:
            shown.append(f"and {len(faults) - _MOST_FAULTS} more")
        raise Refused("; ".join(shown)) from None


def _place(fault: Any) -> str:
    parts = (str(part) for part in fault["loc"])
    return ".".join(part if len(part) <= _MOST_ECHOED else part[:_MOST_ECHOED] + "…" for part in parts) or "body"


def _reason(fault: Any) -> str:
    if fault["type"] == "missing":
        return "required"
    text: str = fault["msg"].removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def check_sizes(body: AddMemories, most: int) -> None:
    """Raises TooBig when there are more than `most` messages, or naming each message that is too long."""
    if len(body.messages) > most:
        raise TooBig(f"messages: at most {most} in one request, which are stored all or none; send the rest in another request")
    sizes = [len(message.content.encode()) for message in body.messages]
    long = [f"messages.{index}.content" for index, size in enumerate(sizes) if size > MAX_CONTENT_BYTES]
    if long:
        raise TooBig(f"{', '.join(long[:_MOST_FAULTS])}: at most {MAX_CONTENT_BYTES} bytes; split the text into several messages")
