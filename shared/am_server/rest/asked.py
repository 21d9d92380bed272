"""What a route of /api/v2 works with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from am_server.rest.models import Body, Named
from am_server.rest.projects import Place, Project
from am_server.tools.call import Call

Model = TypeVar("Model", bound=Body, covariant=True)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Model]):
    """One authenticated request with its body read."""

    call: Call
    body: Model
    idempotency_key: str | None = None

    def inside(self, project: Project) -> Call:
        """The call, as made by the agent whose memory the project is."""
        return replace(self.call, caller=replace(self.call.caller, agent_uid=project.uid))


def place_of(asked: Asked[Named]) -> Place:
    """The project that the body names, in the caller's account."""
    return Place(asked.call.caller.account, asked.body.org_id, asked.body.project_id)
