"""What the /api/v2 routes answer: the shapes that MemMachine's clients validate."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class AddedMessage(TypedDict):
    uid: str


class Added(TypedDict):
    """One uid for each message, in order."""

    results: list[AddedMessage]


class Episode(TypedDict):
    """A message. Metadata that is empty is left out."""

    uid: str
    content: str
    created_at: str
    producer_id: str
    producer_role: str
    produced_for_id: str
    episode_type: Literal["message"]
    content_type: Literal["string"]
    metadata: NotRequired[dict[str, str]]


class ListedEpisode(Episode):
    session_key: str


class Hit(Episode):
    score: float


class FeatureSource(TypedDict):
    """Which statement it is, and the message it was made from."""

    id: str
    citations: list[str]


class Feature(TypedDict):
    """A statement."""

    set_id: str
    category: str
    tag: str
    feature_name: str
    value: str
    metadata: FeatureSource


class LongTerm(TypedDict):
    episodes: list[Hit]


class ShortTerm(TypedDict):
    """Always empty: every message is long-term from the start."""

    episodes: list[Hit]
    episode_summary: list[str]


class EpisodicHits(TypedDict):
    long_term_memory: LongTerm
    short_term_memory: ShortTerm


class SearchContent(TypedDict):
    """What was asked for; other types are left out."""

    episodic_memory: NotRequired[EpisodicHits]
    semantic_memory: NotRequired[list[Feature]]


class SearchAnswer(TypedDict):
    status: Literal[0]
    content: SearchContent


class ListContent(TypedDict):
    """What was asked for; other types are left out."""

    episodic_memory: NotRequired[list[ListedEpisode]]
    semantic_memory: NotRequired[list[Feature]]


class ListAnswer(TypedDict):
    status: Literal[0]
    content: ListContent


class ProjectNames(TypedDict):
    org_id: str
    project_id: str


class ProjectAnswer(ProjectNames):
    description: str
    config: dict[str, Any]


class EpisodeCount(TypedDict):
    count: int


class Health(TypedDict):
    status: Literal["healthy"]
    service: str
    version: str


class EpisodicConfig(TypedDict):
    """The same for every project."""

    enabled: bool
    long_term_memory_enabled: bool
    short_term_memory_enabled: bool


class Refusal(TypedDict):
    """What is wrong, as text that names every field at fault."""

    detail: str
