"""Projects: memories of an account, each with an `agent_uid` of its own.

`accounts/{account}/projects/{hash of org and project}` says which uid a project has. The uid is drawn at random when
the project is made, and a deleted project leaves no document behind, so what is made again under the same names has
another uid: nothing of the old one can reappear in it, not even what was still being written while it was erased.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from am_server.errors import Conflict, NotFound
from am_server.rest.models import CreateProject, ProjectConfig
from am_server.store.port import Document, DocumentStore, PreconditionFailed, Query, Write, create, delete, update

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


def find(store: DocumentStore, place: Place) -> Project | None:
    """The project of these names; one read."""
    document = store.get(place.path)
    return _project(place.account, document) if document else None


def find_or_create(store: DocumentStore, place: Place, body: CreateProject, now: int) -> Project:
    """The project that a create route asks for.

    One that an add made takes on the description and the settings of the first create. Raises Conflict when there is
    one that was created with other settings.
    """
    wanted = draft(place, body.description, body.config, declared=True)
    for _ in range(_ATTEMPTS):
        try:
            found = find(store, place)
            if found is None:
                store.commit([creation(wanted, now)])
                return wanted
            if not found.declared:
                taken = Project(place, found.uid, wanted.description, wanted.config, declared=True)
                store.commit([update(place.path, _fields(taken), found.version)])
                return taken
        except PreconditionFailed:
            continue
        if found.config != wanted.config:
            raise Conflict("the project exists with another config; read it with projects/get, or delete it first")
        return found
    raise Conflict("the project is being created and deleted at the same time; try again")


def every(store: DocumentStore, account: str) -> list[Project]:
    """All projects of an account, by organisation and name."""
    found = [_project(account, document) for document in store.query(Query(f"accounts/{account}/projects"))]
    return sorted(found, key=lambda project: (project.place.org_id, project.place.project_id))


def forget(store: DocumentStore, place: Place) -> Project:
    """Delete the project's document, after which nobody finds what it held. Raises NotFound when there is none."""
    for _ in range(_ATTEMPTS):
        found = find(store, place)
        if found is None:
            raise NotFound(f"there is no project {place.session_key}")
        try:
            store.commit([delete(place.path, found.version)])
            return found
        except PreconditionFailed:
            continue
    raise Conflict("the project is being changed at the same time; try again")


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
