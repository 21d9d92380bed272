"""Consolidation: old episodes whose trails have faded give way to summaries that cite them."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.memory.consolidation import Old, groups, summary
from am_server.memory.terms import session_of, speaker_of
from am_server.store.port import AlreadyExists, Write
from am_server.times import DAY, show
from am_server.tools.call import Call
from am_server.tools.episodes_store import deletion_write, episode_writes
from am_server.tools.episodic import IdempotencyKey, moment
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import Arguments, Hints, tool
from am_server.views.contents import Episode

DEFAULT_AGE = 7 * DAY

MOST_AT_ONCE = 400
"""Faded episodes that one call takes."""

COMMIT_WRITES, COMMIT_CHARS = 400, 1_000_000
"""What goes into one commit; the remains of very long episodes follow in further ones."""


class ConsolidateEpisodes(Arguments):
    before_time: str | None = Field(
        None, description="Only episodes that happened before this time, RFC 3339; a week ago when left out."
    )
    idempotency_key: IdempotencyKey = None


class Merged(TypedDict):
    """A summary, the episodes that it replaced, and those that it covers as well but that stay."""

    summary_id: str
    sources: list[str]
    kept: NotRequired[list[str]]


class ConsolidateResult(TypedDict):
    consolidated: int
    before: str
    note: str
    merged: NotRequired[list[Merged]]
    forgotten: NotRequired[list[str]]
    remaining: NotRequired[int]


@dataclass(frozen=True, slots=True)
class _Text:
    """One old episode with all its chunks."""

    chunks: Sequence[Episode]
    faint: bool

    @property
    def ids(self) -> list[str]:
        return [chunk.id for chunk in self.chunks]

    def as_old(self) -> Old:
        first = self.chunks[0]
        text = "\n".join(chunk.content for chunk in self.chunks)
        return Old(text, first.valid_at, session_of(first.metadata), speaker_of(first.metadata), self.faint)


@tool(
    toolset="episodic",
    title="Consolidate old episodes",
    description="""Tidy up: old episodes whose trail has faded under 0.1 are merged, by session and likeness, into summaries that
    quote and cite them, and are deleted (purged after 30 days); one that is like no other is deleted without a
    summary. What is recent, used or reinforced stays; an episode that nothing touches fades within a week. The answer says what
    was merged, forgotten or kept. Running it again changes nothing.""",
    result=ConsolidateResult,
    hints=Hints(destructive=True, idempotent=True),
    examples=[{"before_time": "2026-01-01T00:00:00Z"}],
)
def memory_consolidate_episodes(call: Call, args: ConsolidateEpisodes) -> dict[str, Any]:
    before = call.now - DEFAULT_AGE if args.before_time is None else moment("before_time", args.before_time)
    view = call.views.episodes(call.caller.agent_uid)
    faded = view.faded(before, call.now, MOST_AT_ONCE)
    known = view.read([id for ids in (*faded.faint, *faded.lasting) for id in ids]) if faded.faint else {}
    texts = [
        _Text(chunks, faint)
        for units, faint in ((faded.faint, True), (faded.lasting, False))
        for ids in units
        if (chunks := [known[id] for id in ids if id in known])
    ]
    texts.sort(key=lambda text: text.chunks[0].stored_at)  # what happened at the same time is told in the order it was stored
    found = groups([text.as_old() for text in texts])
    merged = [entry for group in found if (entry := _merge(call, [texts[number] for number in group]))]
    alone = set(range(len(texts))) - {number for group in found for number in group}
    forgotten = [id for number in sorted(alone) if texts[number].faint for id in texts[number].ids]
    for batch in _batches([known[id] for id in forgotten]):
        call.store.commit(_tombstones(call, batch))
    return commit_once(call, args, "memory_consolidate_episodes", [], _answer(before, merged, forgotten, faded.left))


def _merge(call: Call, texts: Sequence[_Text]) -> dict[str, Any] | None:
    """Store the summary of texts and delete the faint ones, in one commit. None when somebody else has just done it."""
    olds = [text.as_old() for text in texts]
    gone = [chunk for text in texts if text.faint for chunk in text.chunks]
    kept = [id for text in texts if not text.faint for id in text.ids]
    metadata = {"consolidated_from": [chunk.id for chunk in gone], **_shared("session_id", [old.session for old in olds])}
    metadata |= _shared("speaker", [old.speaker for old in olds])
    content = summary([Old(old.text, old.valid_at, speaker="" if "speaker" in metadata else old.speaker) for old in olds])
    digest = hashlib.sha256(json.dumps(sorted(chunk.id for chunk in gone)).encode()).digest()
    id = str(uuid.UUID(bytes=digest[:16], version=4))  # from its sources, so that two who consolidate at once make one
    root = f"agents/{call.caller.agent_uid}"
    _, writes = episode_writes(root, [content], metadata, max(old.valid_at for old in olds), call.now, ids=[id])
    first, *more = _batches(gone)
    try:
        call.store.commit([*writes, *_tombstones(call, first)])
    except AlreadyExists:
        return None
    for batch in more:
        call.store.commit(_tombstones(call, batch))
    return {"summary_id": id, "sources": [chunk.id for chunk in gone], **({"kept": kept} if kept else {})}


def _shared(key: str, values: Sequence[str]) -> dict[str, str]:
    """An entry of the metadata that all sources have in common."""
    return {key: values[0]} if values[0] and len(set(values)) == 1 else {}


def _batches(episodes: Sequence[Episode]) -> list[list[Episode]]:
    """Episodes in as many parts as they need commits."""
    parts: list[list[Episode]] = []
    room = 0
    for episode in episodes:
        room -= len(episode.content)
        if not parts or room < 0 or len(parts[-1]) >= COMMIT_WRITES:
            parts.append([])
            room = COMMIT_CHARS - len(episode.content)
        parts[-1].append(episode)
    return parts


def _tombstones(call: Call, episodes: Sequence[Episode]) -> list[Write]:
    return [deletion_write(f"agents/{call.caller.agent_uid}", episode.id, call.now, _remains(episode)) for episode in episodes]


def _remains(episode: Episode) -> str:
    """What is needed to restore an episode."""
    kept = {
        "content": episode.content,
        "metadata": episode.metadata,
        "valid_at": episode.valid_at,
        "stored_at": episode.stored_at,
    }
    return json.dumps({name: value for name, value in kept.items() if value is not None}, ensure_ascii=False)


def _answer(before: int, merged: Sequence[dict[str, Any]], forgotten: Sequence[str], left: int) -> dict[str, Any]:
    sources = sum(len(entry["sources"]) for entry in merged)
    stay = sum(len(entry.get("kept", ())) for entry in merged)
    answer: dict[str, Any] = {"consolidated": sources + len(forgotten), "before": show(before)}
    if not merged and not forgotten:
        return {**answer, "note": "Nothing to do: no older episode has a trail under 0.1. Everything was kept."}
    note = f"{sources} episodes were merged into {len(merged)} summaries; {stay} of the same sessions were only kept"
    note += f"; {len(forgotten)} that belong to no group were deleted. Deleted episodes are kept for 30 days."
    answer |= {"note": note, "merged": list(merged), "forgotten": list(forgotten)}
    if left:
        answer |= {"remaining": left, "note": f"{note} {left} more are due; call again."}
    return answer
