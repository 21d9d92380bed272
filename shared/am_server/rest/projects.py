"""Projects: memories of an account, each with an `agent_uid` of its own.

`accounts/{account}/projects/{hash of org and project}` says which uid a project has. The uid is drawn at random when
the project is made, and a deleted project leaves no document behind, so what is made again under the same names has
another uid: nothing of the old one can reappear in it, not even what was still being written while it was erased.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from am_server.errors import Conflict, NotFound
from am_server.identity.recent import Recent
from am_server.rest.models import CreateProject, ProjectConfig
from am_server.store.port import Document, DocumentStore, PreconditionFailed, Query, Write, create, delete, update
from am_server.times import SECOND, Clock

KEPT_SECONDS = 60
"""How long an instance remembers which uid a project has; a writer looks again after its commit."""

_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Place:
    """The names of a project within an account."""

    account: str
    org_id: str
    project_id: str

    @property
    def path(self) -> str:
        """The project's document."""
        names = json.dumps([self.org_id, self.project_id]).encode()
        return f"accounts/{self.account}/projects/{hashlib.sha256(names).hexdigest()[:40]}"

    @property
    def session_key(self) -> str:
        """What messages of the project carry as `session_key`."""
        return f"{self.org_id}/{self.project_id}"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as stored."""

    place: Place
    uid: str
    """Everything it holds lives under `agents/{uid}`."""
    description: str
    config: Mapping[str, Any]
    declared: bool
    """Whether it was created by name; otherwise an add made it."""
    version: datetime | None = None

    def shown(self) -> dict[str, Any]:
        """The project as the routes answer it."""
        names = {"org_id": self.place.org_id, "project_id": self.place.project_id}
        return {**names, "description": self.description, "config": dict(self.config)}


def draft(place: Place, description: str = "", config: ProjectConfig | None = None, declared: bool = False) -> Project:
    """A project that is not stored yet, under a new uid."""
    settings = (config or ProjectConfig()).model_dump(exclude_none=True)
    return Project(place, str(uuid.uuid4()), description, settings, declared)


def creation(project: Project, now: int) -> Write:
    """The write that makes the project; its commit fails with AlreadyExists when there is one of these names."""
    return create(project.place.path, {**_fields(project), "created_at": now})


class Projects:
    """The projects of all accounts. Safe under threads."""

    def __init__(self, store: DocumentStore, clock: Clock, erase: Callable[[str], object]) -> None:
        """`erase(uid)` erases what a deleted project held; doing it twice is harmless."""
        self._store = store
        self._clock = clock
        self._erase = erase
        self._recent: Recent[Project] = Recent(10_000)

    def find(self, place: Place) -> Project | None:
        """The project of these names; one read."""
        mark = self._recent.mark()
        document = self._store.get(place.path)
        found = None if document is None or _doomed(document) else _project(place.account, document)
        if found:
            self._recent.keep(place.path, found, self._clock.now() + KEPT_SECONDS * SECOND, mark)
        else:
            self._recent.forget(place.path)
        return found

    def recent(self, place: Place) -> Project | None:
        """The project as this instance knew it a short while ago; it may be deleted meanwhile. No read."""
        return self._recent.get(place.path, self._clock.now())

    def find_or_create(self, place: Place, body: CreateProject) -> Project:
        """The project that a create route asks for.

        One that an add made takes on the description and the settings of the first create. Raises Conflict when there is
        one that was created with other settings.
        """
        wanted = draft(place, body.description, body.config, declared=True)
        for _ in range(_ATTEMPTS):
            try:
                found = self.find(place)
                if found is None:
                    self._store.commit([creation(wanted, self._clock.now())])
                    return wanted
                if not found.declared:
                    taken = Project(place, found.uid, wanted.description, wanted.config, declared=True)
                    self._store.commit([update(place.path, _fields(taken), found.version)])
                    return taken
            except PreconditionFailed:
                self.clear(place)
                continue
            if found.config != wanted.config:
                raise Conflict("the project exists with another config; read it with projects/get, or delete it first")
            return found
        raise Conflict("the project is being created and deleted at the same time; try again")

    def every(self, account: str) -> list[Project]:
        """All projects of an account, by organisation and name."""
        documents = self._store.query(Query(f"accounts/{account}/projects"))
        found = [_project(account, document) for document in documents if not _doomed(document)]
        return sorted(found, key=lambda project: (project.place.org_id, project.place.project_id))

    def remove(self, place: Place) -> None:
        """Delete a project and erase what it held. Nobody finds it from the first write on; a deletion that breaks off is
        finished by the next that asks for the project's names. Raises NotFound when there is none.
        """
        for _ in range(_ATTEMPTS):
            document = self._store.get(place.path)
            if document is None:
                raise NotFound(f"there is no project {place.session_key}")
            try:
                if not _doomed(document):
                    self._store.commit([update(place.path, {"doomed": True}, document.updated_at)])
            except PreconditionFailed:
                continue
            self._recent.forget(place.path)
            self.clear(place)
            return
        raise Conflict("the project is being changed at the same time; try again")

    def clear(self, place: Place) -> None:
        """Finish a deletion of this project, if one was begun."""
        document = self._store.get(place.path)
        if document is not None and _doomed(document):
            self._erase(str(document.data["agent_uid"]))
            with suppress(PreconditionFailed):  # somebody else finished it
                self._store.commit([delete(place.path, document.updated_at)])


def _doomed(document: Document) -> bool:
    return bool(document.data.get("doomed"))


def _fields(project: Project) -> dict[str, Any]:
    place = project.place
    config = json.dumps(project.config, ensure_ascii=False, sort_keys=True)
    fields = {"org_id": place.org_id, "project_id": place.project_id, "agent_uid": project.uid, "config": config}
    return {**fields, "description": project.description, "declared": project.declared}


def _project(account: str, document: Document) -> Project:
    data = document.data
    place = Place(account, str(data["org_id"]), str(data["project_id"]))
    settings = json.loads(str(data["config"]))
    return Project(place, str(data["agent_uid"]), str(data["description"]), settings, bool(data["declared"]), document.updated_at)
