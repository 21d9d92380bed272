"""POST /memories/list, and what listing and searching have in common: a project's messages, filtered, with contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from am_server.rest import messages, statements
from am_server.rest.asked import Asked, place_of
from am_server.rest.filters import Node, fields_of, parse
from am_server.rest.matching import matches
from am_server.rest.models import ListMemories
from am_server.rest.projects import Project as StoredProject
from am_server.store.metered import concurrently
from am_server.store.port import DocumentStore
from am_server.tools.call import Call
from am_server.views.contents import read_episode
from am_server.views.messages import Message, Messages

if TYPE_CHECKING:
    from am_server.views.episodes import EpisodeView

_READ_AT_ONCE = 300


@dataclass(frozen=True, slots=True)
class Project:
    """A project's messages as they are now."""

    call: Call
    """As made by the agent whose memory the project is."""
    session_key: str
    messages: Messages
    episodes: EpisodeView | None = None
    """To search in; only when that was asked for."""

    def passing(self, tree: Node | None) -> list[Message]:
        """The messages that a filter lets through, by time."""
        if tree is None:
            return list(self.messages.ordered)
        if "content" not in fields_of(tree):
            return [message for message in self.messages.ordered if matches(tree, messages.row(message, self.session_key))]
        contents = self.contents(message.uid for message in self.messages.ordered)
        return [
            message
            for message in self.messages.ordered
            if message.uid in contents and matches(tree, messages.row(message, self.session_key, contents[message.uid]))
        ]

    def contents(self, uids: Iterable[str]) -> dict[str, str]:
        """What the messages say; one that is gone by now is left out."""
        return contents(self.call.store, self.call.collection("episodes"), list(uids))


def contents(store: DocumentStore, collection: str, uids: Sequence[str]) -> dict[str, str]:
    """The contents of these episodes; one round trip for each few hundred."""
    found = {}
    for start in range(0, len(uids), _READ_AT_ONCE):
        for document in store.get_many([f"{collection}/{uid}" for uid in uids[start : start + _READ_AT_ONCE]]):
            episode = read_episode(document)
            if episode is not None:
                found[episode.id] = episode.content
    return found


def project_of(asked: Asked[Any], searching: bool = False) -> Project | None:
    """The project that a body names, for `searching` with its episodes; None when there is none, and reading makes none.

    What this instance knows already is brought up to date while the store is asked whether it is still so.
    """
    place, projects = place_of(asked), asked.call.services.projects
    known = projects.recent(place)
    found = None
    if known:
        made, found = _read(asked, known, searching, lambda: projects.find(place))
        if found is None or found.uid == known.uid:
            return made if found else None
    found = found or projects.find(place)
    return _read(asked, found, searching, lambda: found)[0] if found else None


def _read(
    asked: Asked[Any], stored: StoredProject, searching: bool, check: Callable[[], StoredProject | None]
) -> tuple[Project, StoredProject | None]:
    """The project's messages and perhaps its episodes, and what `check` says, side by side."""
    call, uid = asked.inside(stored), stored.uid
    jobs: list[Callable[[], Any]] = [check, lambda: call.views.messages(uid)]
    if searching:
        jobs.append(lambda: call.views.episodes(uid))
    checked, listed, *episodes = concurrently(*jobs)
    return Project(call, stored.place.session_key, listed, *episodes), checked


def wanted_types(types: Sequence[str]) -> frozenset[str]:
    """The types that a body asks for: all of them when it names none."""
    return frozenset(types or ("episodic", "semantic"))


def list_memories(asked: Asked[ListMemories]) -> dict[str, Any]:
    """A page of messages and a page of statements, by time."""
    body = asked.body
    tree = parse(body.filter)
    project = project_of(asked)
    types = wanted_types([body.type] if body.type else [])
    if project is None:
        return {"status": 0, "content": {f"{name}_memory": [] for name in sorted(types)}}
    passing = project.passing(tree)
    start, end = body.page_num * body.page_size, (body.page_num + 1) * body.page_size
    page = passing[start:end] if "episodic" in types else []
    cited = list(_covering(passing, start, end)) if "semantic" in types else []
    said = project.contents(dict.fromkeys(message.uid for message in [*page, *(message for message, _, _ in cited)]))
    key = project.session_key
    listed = [messages.shown(message, said[message.uid]) | {"session_key": key} for message in page if message.uid in said]
    made = [
        statements.shown(statement, key)
        for message, first, last in cited
        for statement in statements.statements(message, said.get(message.uid, ""))[first:last]
    ]
    found = {"episodic": listed, "semantic": made}
    return {"status": 0, "content": {f"{name}_memory": found[name] for name in sorted(types)}}


def _covering(passing: Sequence[Message], start: int, end: int) -> Iterator[tuple[Message, int, int]]:
    """The messages with statements between the places `start` and `end`, and which of their live statements those are.

    How many statements a message has is known without its content, so only the messages of the page are read.
    """
    place = 0
    for message in passing:
        if place >= end:
            return
        count = len(message.live)
        if place + count > start:
            yield message, max(0, start - place), min(count, end - place)
        place += count
