"""Episodic memory: what happened, as it was told, found again by meaning, by time and by trail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.errors import Invalid, Unavailable
from am_server.memory.chunking import chunks
from am_server.memory.trails import deposit
from am_server.store.port import SERVER_TIME, Increment, PreconditionFailed, update
from am_server.times import parse, show
from am_server.tools import cursors
from am_server.tools.call import Call
from am_server.tools.episodes_store import (
    ShownEpisode,
    between,
    check_content,
    episode_writes,
    label,
    metadata_text,
    newest,
    shown,
)
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import ADD, READ, Arguments, tool
from am_server.views.contents import Episode

REINFORCEMENT = 0.2
"""What a search with use_pheromone adds to the trail of each episode that it returns."""

MAX_PAGE = 200
"""The most episodes any answer holds; a larger limit means this one."""

MAX_CHUNKS = 400
"""Chunks of one episode commit together, and a commit takes 500 writes."""

MIN_CHUNK_SIZE = 200

IdempotencyKey = Annotated[
    str | None,
    Field(
        max_length=1_024,
        description="Text of your choice, e.g. a UUID; a retry with the same key returns the first answer and stores nothing "
        "more.",
    ),
]


class StoreEpisode(Arguments):
    content: str = Field(description="What happened or was said, as text of at most 64 KB. Long text is cut into chunks.")
    metadata: dict[str, Any] | None = Field(
        None,
        description="Anything worth keeping beside the text. Pass session_id (the conversation) and speaker (who said it) when "
        "they are known: recall is much better with them.",
    )
    valid_at: str | None = Field(None, description="When it happened, RFC 3339, e.g. 2026-03-01T10:00:00Z. Now when left out.")
    chunk: bool | None = Field(
        None, description="true cuts the text, false keeps it whole. Left out: only text longer than chunk_threshold is cut."
    )
    chunk_threshold: int = Field(6_000, ge=1, description="Characters above which text is cut.")
    chunk_size: int = Field(2_800, ge=MIN_CHUNK_SIZE, description="Characters that a chunk has at most; 200 or more.")
    chunk_overlap: int | None = Field(
        None, ge=0, description="Characters that neighbouring chunks share; 450 when left out, and at most half of chunk_size."
    )
    idempotency_key: IdempotencyKey = None


class StoreEpisodeResult(TypedDict):
    stored: Literal[True]
    id: str
    ids: list[str]
    chunks: int
    agent_id: str


@tool(
    toolset="episodic",
    title="Store an episode",
    description="""Remember an event, an observation or one turn of a conversation, word for word. One call for each turn or
    event; put session_id and speaker into metadata, and pass valid_at when it did not happen just now. The next search finds it.
    id names the episode; ids has one id for each chunk of long text. For facts about things use memory_store_entity or
    memory_graph_add_triple; for scratch values memory_set_working.""",
    result=StoreEpisodeResult,
    hints=ADD,
    examples=[
        {
            "content": "Alice said she prefers simple analogies when we talk about quantum computing.",
            "metadata": {"session_id": "2026-03-01", "speaker": "Alice"},
            "valid_at": "2026-03-01T10:00:00Z",
        }
    ],
)
def memory_store_episode(call: Call, args: StoreEpisode) -> dict[str, Any]:
    check_content(args.content)
    metadata_text(args.metadata)
    valid_at = call.now if args.valid_at is None else moment("valid_at", args.valid_at)
    ids, writes = episode_writes(f"agents/{call.caller.agent_uid}", _texts(args), args.metadata, valid_at, call.now)
    response = {"stored": True, "id": ids[0], "ids": ids, "chunks": len(ids), "agent_id": call.caller.agent_id}
    return commit_once(call, args, "memory_store_episode", writes, response)


class GetEpisodes(Arguments):
    limit: int = Field(10, ge=1, description="Most episodes to return; at most 200.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")


class EpisodesResult(TypedDict):
    episodes: list[ShownEpisode]
    count: int
    next_cursor: NotRequired[str]


@tool(
    toolset="episodic",
    title="List the newest episodes",
    description="""The episodes that were stored last, newest first, with pages by cursor. To find something use
    memory_search_episodes, for a stretch of time memory_search_timeline.""",
    result=EpisodesResult,
    hints=READ,
    examples=[{"limit": 5}],
)
def memory_get_episodes(call: Call, args: GetEpisodes) -> dict[str, Any]:
    limit, after = min(args.limit, MAX_PAGE), cursors.decode(args.cursor, int)
    found = newest(call.store, f"agents/{call.caller.agent_uid}", limit + 1, after)
    return _page(found, limit, lambda last: last.stored_at)


class SearchEpisodes(Arguments):
    query: str = Field(description="What to find, as a question or as words; whole sentences work best.")
    limit: int = Field(12, ge=1, description="Most episodes to return; at most 200.")
    use_hybrid: bool = Field(True, description="false searches by words alone, without meaning.")
    use_pheromone: bool = Field(
        False, description="true ranks by trail as well and reinforces what it returns. For memories that are used often."
    )
    max_content_chars: int | None = Field(
        None, ge=1, description="Cut each content to this many characters around the passage that matches."
    )
    session_id: str | None = Field(None, description="Only episodes of this session.")
    speaker: str | None = Field(None, description="Only episodes of this speaker.")
    metadata: dict[str, Any] | None = Field(None, description="Only episodes whose metadata has all of these values.")
    start_time: str | None = Field(None, description="Only what happened at or after this time, RFC 3339.")
    end_time: str | None = Field(None, description="Only what happened before this time, RFC 3339.")
    explain: bool = Field(False, description="true adds to each result its rank in each leg of the search.")


class SearchResult(TypedDict):
    """An episode that answers, and how well."""

    episode: ShownEpisode
    score: float
    ranks: NotRequired[dict[str, int]]


class SearchEpisodesResult(TypedDict):
    results: list[SearchResult]
    count: int
    retrieval: Literal["hybrid", "tfidf"]
    coverage: NotRequired[float]
    degraded: NotRequired[str]


@tool(
    toolset="episodic",
    title="Search episodes",
    description="""Find what is remembered about something, by words, near words and meaning together, best first. Ask the
    question itself, with the names in it. session_id, speaker, metadata, start_time and end_time narrow the search before it
    ranks. Of long text the passage that matches is returned. retrieval says
    how the search was made: hybrid, or tfidf by words alone; degraded, when it is there, says why.""",
    result=SearchEpisodesResult,
    hints=ADD,
    examples=[{"query": "How does Alice like things explained?", "limit": 5}],
)
def memory_search_episodes(call: Call, args: SearchEpisodes) -> dict[str, Any]:
    from am_server.memory.passages import passage
    from am_server.views.episodes import Search

    search = Search(
        query=args.query,
        limit=min(args.limit, MAX_PAGE),
        hybrid=args.use_hybrid,
        trails_at=call.now if args.use_pheromone else None,
        session_id=args.session_id,
        speaker=args.speaker,
        labels=[label(key, value) for key, value in (args.metadata or {}).items()],
        start=None if args.start_time is None else moment("start_time", args.start_time),
        end=None if args.end_time is None else moment("end_time", args.end_time),
        explain=args.explain,
    )
    found = call.views.episodes(call.caller.agent_uid).search(search)
    if args.use_pheromone:
        _reinforce(call, [result.episode.id for result in found.results])
    results = []
    for result in found.results:
        content = result.episode.content
        if args.max_content_chars is not None:
            content = passage(content, args.query, args.max_content_chars)
        entry: dict[str, Any] = {"episode": shown(result.episode, content), "score": round(result.score, 6)}
        results.append({**entry, "ranks": dict(result.ranks)} if args.explain else entry)
    answer: dict[str, Any] = {"results": results, "count": len(results), "retrieval": found.retrieval}
    if found.coverage < 1:
        answer["coverage"] = round(found.coverage, 4)
    return answer if found.degraded is None else {**answer, "degraded": found.degraded}


class SearchTimeline(Arguments):
    start_time: str = Field(description="Begin of the window, RFC 3339; what happened then is in it.")
    end_time: str = Field(description="End of the window, RFC 3339; what happened then is not in it.")
    limit: int = Field(100, ge=1, description="Most episodes to return; at most 200.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")


class Window(TypedDict):
    start: str
    end: str


class TimelineResult(TypedDict):
    episodes: list[ShownEpisode]
    count: int
    window: Window
    next_cursor: NotRequired[str]


@tool(
    toolset="episodic",
    title="Episodes of a time window",
    description="""What happened between two times, earliest first, by valid_at. The start belongs to the window and the end does
    not, so that windows laid end to end hold each episode once. Times without a zone are UTC.""",
    result=TimelineResult,
    hints=READ,
    examples=[{"start_time": "2026-03-01T00:00:00Z", "end_time": "2026-03-02T00:00:00Z"}],
)
def memory_search_timeline(call: Call, args: SearchTimeline) -> dict[str, Any]:
    start, end = moment("start_time", args.start_time), moment("end_time", args.end_time)
    limit, after = min(args.limit, MAX_PAGE), cursors.decode(args.cursor, int)
    found = between(call.store, f"agents/{call.caller.agent_uid}", start, end, limit + 1, after) if start < end else []
    return {**_page(found, limit, lambda last: last.valid_at), "window": {"start": show(start), "end": show(end)}}


def moment(field: str, text: str) -> int:
    """An argument as microseconds since 1970. Raises Invalid naming it."""
    try:
        return parse(text)
    except ValueError as problem:
        raise Invalid(field, str(problem)) from None


def _texts(args: StoreEpisode) -> list[str]:
    """The episode's text, whole or in chunks."""
    if not (len(args.content) > args.chunk_threshold if args.chunk is None else args.chunk):
        return [args.content]
    overlap = min(450, args.chunk_size // 2) if args.chunk_overlap is None else args.chunk_overlap
    if overlap > args.chunk_size // 2:
        raise Invalid("chunk_overlap", "at most half of chunk_size")
    texts = chunks(args.content, args.chunk_size, overlap)
    if len(texts) > MAX_CHUNKS:
        raise Invalid("chunk_size", f"makes {len(texts)} chunks, and at most {MAX_CHUNKS} are possible; use larger ones")
    return texts


def _reinforce(call: Call, ids: list[str]) -> None:
    """Add to the trails of what a search returns, in one commit of blind increments."""
    amount: Mapping[str, Any] = {"trail": Increment(deposit(REINFORCEMENT, call.now)), "changed_at": SERVER_TIME}
    if ids:
        # one of them may be deleted at this moment, or the store take no writes: a trail is a hint, and the answer is at hand
        with suppress(PreconditionFailed, Unavailable):
            call.store.commit([update(call.path("episodes", id), amount) for id in ids])


def _page(found: Sequence[Episode], limit: int, order: Callable[[Episode], int]) -> dict[str, Any]:
    """The first `limit` of what was found, and where the next page begins if there is more."""
    episodes = [shown(episode) for episode in found[:limit]]
    page: dict[str, Any] = {"episodes": episodes, "count": len(episodes)}
    if len(found) > limit:
        page["next_cursor"] = cursors.encode(order(found[limit - 1]), found[limit - 1].id)
    return page
