"""POST /memories/search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from am_server.memory.statements import relevance
from am_server.memory.tokens import tokens
from am_server.rest import messages, statements
from am_server.rest.asked import Asked
from am_server.rest.filters import parse
from am_server.rest.models import MAX_TOP_K, SearchMemories
from am_server.rest.reading import Project, project_of, wanted_types
from am_server.views.messages import Message

if TYPE_CHECKING:
    from am_server.views.episodes import EpisodeView

LEAST_SHARE = 0.25
"""What a statement without a word of the query keeps of its message's score; with all of them it keeps it whole."""


@dataclass(frozen=True, slots=True)
class _Hit:
    message: Message
    content: str
    score: float


def search(asked: Asked[SearchMemories]) -> dict[str, Any]:
    """The best messages and the best statements of a project, each at most `top_k`."""
    body = asked.body
    tree = parse(body.filter)
    types = wanted_types(body.types)
    project = project_of(asked, searching=True)
    passing = project.passing(tree) if project else []
    episodic = [message for message in passing if "episodic" in message.types]
    content: dict[str, Any] = {}
    hits: list[_Hit] | None = None
    if "episodic" in types:
        hits = _ranked(project, body, episodic) if project else []
        found = _expanded(project, body, episodic, hits) if project else []
        long_term = {"episodes": [{**messages.shown(hit.message, hit.content), "score": hit.score} for hit in found]}
        short_term: dict[str, Any] = {"episodes": [], "episode_summary": [""]}
        content["episodic_memory"] = {"long_term_memory": long_term, "short_term_memory": short_term}
    if "semantic" in types:
        if project and (hits is None or len(episodic) < len(passing)):
            hits = _ranked(project, body, [message for message in passing if message.statements])
        content["semantic_memory"] = _statements(project, body, hits or []) if project else []
    return {"status": 0, "content": content}


def _ranked(project: Project, body: SearchMemories, among: Sequence[Message]) -> list[_Hit]:
    """The best of these messages, best first. Scores are relative to the best match of the words: its score is about 1."""
    from am_server.views.episodes import Search

    known = project.messages.by_uid
    ids = None if len(among) == len(known) else [message.uid for message in among]
    found = _view(project).search(Search(body.query, min(body.top_k, MAX_TOP_K), ids=ids))
    hits = [_Hit(known[r.episode.id], r.episode.content, r.score) for r in found.results if r.episode.id in known]
    return [hit for hit in hits if body.score_threshold is None or hit.score >= body.score_threshold]


def _expanded(project: Project, body: SearchMemories, among: Sequence[Message], hits: Sequence[_Hit]) -> Sequence[_Hit]:
    """The hits, or with `expand_context` as many of the best as fit `top_k` with their neighbours, by time.

    A third of the neighbours come before the hit, as a MemMachine server takes them, and carry its score.
    """
    limit = min(body.top_k, MAX_TOP_K)
    around = min(body.expand_context, limit - 1)
    if around <= 0:
        return hits
    before, after = around // 3, around - around // 3
    places = {message.uid: place for place, message in enumerate(among)}
    scores: dict[int, float] = {}
    for hit in hits:
        place = places[hit.message.uid]
        near = [place, *range(place + 1, min(place + 1 + after, len(among))), *reversed(range(max(0, place - before), place))]
        for number in near:
            if len(scores) < limit:
                scores.setdefault(number, hit.score)
    said = {hit.message.uid: hit.content for hit in hits}
    missing = [among[number].uid for number in scores if among[number].uid not in said]
    said.update((id, episode.content) for id, episode in _view(project).read(missing).items())
    return [_Hit(among[n], said[among[n].uid], scores[n]) for n in sorted(scores) if among[n].uid in said]


def _statements(project: Project, body: SearchMemories, hits: Sequence[_Hit]) -> list[dict[str, Any]]:
    """The best statements of the messages found: the message's score, less for each word of the query they lack."""
    candidates = [(hit, statement) for hit in hits for statement in statements.statements(hit.message, hit.content)]
    shares = relevance(tokens(body.query), [tokens(statement.text) for _, statement in candidates])
    scored = [
        (hit.score * (LEAST_SHARE + (1 - LEAST_SHARE) * share), statement)
        for (hit, statement), share in zip(candidates, shares, strict=True)
    ]
    best = sorted(scored, key=lambda pair: -pair[0])
    chosen = [statement for score, statement in best if body.score_threshold is None or score >= body.score_threshold]
    return [statements.shown(statement, project.session_key) for statement in chosen[: body.top_k]]


def _view(project: Project) -> EpisodeView:
    assert project.episodes is not None
    return project.episodes
