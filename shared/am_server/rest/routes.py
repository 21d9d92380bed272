"""Every route of /api/v2: what it takes, what it answers, and how errors are told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from am_server import __version__
from am_server.edge.exchange import Exchange
from am_server.edge.faults import BadRequest
from am_server.edge.http import Request, Response, json_response, parse_json
from am_server.edge.routes import ANY, Handler, Route, dispatch
from am_server.errors import AmError, Invalid, NotFound
from am_server.rest import answers, models
from am_server.rest.access import authenticate
from am_server.rest.adding import add
from am_server.rest.asked import Asked, place_of
from am_server.rest.deleting import delete_episodes, delete_features
from am_server.rest.metrics import Metrics
from am_server.rest.reading import list_memories
from am_server.rest.searching import search
from am_server.store.port import Query, Where
from am_server.tools.call import Call

PREFIX = "/api/v2"

METRICS = Metrics()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A POST route: one function over a body."""

    path: str
    summary: str
    body: type[models.Body]
    function: Callable[[Asked[Any]], Any]
    answer: Any
    """The type of the answer; None for an empty one."""
    status: Literal[200, 201, 204] = 200
    failures: Mapping[int, str] = field(default_factory=dict)
    """What may go wrong beside what may on every route."""


class NotOffered(AmError):
    """A route that a MemMachine server has and this service does not."""

    code, type, status = -32601, "not_implemented", 501


def create_project(asked: Asked[models.CreateProject]) -> dict[str, Any]:
    """The project, made unless there is one."""
    return asked.call.services.projects.find_or_create(place_of(asked), asked.body).shown()


def get_project(asked: Asked[models.Named]) -> dict[str, Any]:
    """The project. Raises NotFound."""
    place = place_of(asked)
    found = asked.call.services.projects.find(place)
    if found is None:
        raise NotFound(f"there is no project {place.session_key}; create it with POST {PREFIX}/projects, or add a message to it")
    return found.shown()


def list_projects(asked: Asked[models.Body]) -> list[dict[str, Any]]:
    """The names of all projects of the account."""
    places = [project.place for project in asked.call.services.projects.every(asked.call.caller.account)]
    return [{"org_id": place.org_id, "project_id": place.project_id} for place in places]


def delete_project(asked: Asked[models.Named]) -> None:
    """Erase a project with everything in it. Raises NotFound."""
    asked.call.services.projects.remove(place_of(asked))


def count_episodes(asked: Asked[models.Named]) -> dict[str, Any]:
    """How many messages a project holds."""
    found = asked.call.services.projects.find(place_of(asked))
    if found is None:
        return {"count": 0}
    collection = asked.inside(found).collection("episodes")
    return {"count": asked.call.store.count(Query(collection, [Where("stored_at", ">", 0)]))}


def episodic_config(asked: Asked[models.Placed]) -> dict[str, Any]:  # noqa: ARG001 - it is the same for every project
    """What a project's episodic memory consists of."""
    return {"enabled": True, "long_term_memory_enabled": True, "short_term_memory_enabled": False}


_TOO_LARGE = {413: "Too many messages, or too much text, for what is stored all or none."}
_NO_PROJECT = {404: "There is no such project."}
ENDPOINTS = (
    Endpoint(
        "/memories",
        "Add messages",
        models.AddMemories,
        add,
        answers.Added,
        failures={**_TOO_LARGE, 409: "The idempotency key came with other messages before."},
    ),
    Endpoint("/memories/search", "Search messages and statements", models.SearchMemories, search, answers.SearchAnswer),
    Endpoint("/memories/list", "List messages and statements", models.ListMemories, list_memories, answers.ListAnswer),
    Endpoint("/memories/episodic/delete", "Delete messages", models.DeleteEpisodes, delete_episodes, None, 204),
    Endpoint("/memories/semantic/delete", "Delete statements", models.DeleteFeatures, delete_features, None, 204),
    Endpoint(
        "/projects",
        "Create a project",
        models.CreateProject,
        create_project,
        answers.ProjectAnswer,
        201,
        {409: "The project exists with another config."},
    ),
    Endpoint("/projects/get", "Get a project", models.Named, get_project, answers.ProjectAnswer, failures=_NO_PROJECT),
    Endpoint("/projects/list", "List projects", models.Body, list_projects, list[answers.ProjectNames]),
    Endpoint("/projects/delete", "Delete a project", models.Named, delete_project, None, 204, _NO_PROJECT),
    Endpoint("/projects/episode_count/get", "Count messages", models.Named, count_episodes, answers.EpisodeCount),
    Endpoint(
        "/memory/episodic/config/get",
        "Get the episodic configuration",
        models.Placed,
        episodic_config,
        answers.EpisodicConfig,
    ),
)

_SEMANTIC = (
    "feature",
    "feature/get",
    "feature/update",
    "set_type",
    "set_type/list",
    "set_type/delete",
    "set_id/get",
    "set_id/list",
)
_CATEGORY = ("", "/get", "/delete", "/disable", "/template", "/template/list", "/set_ids/get", "/tag", "/tag/delete")
_EPISODIC = ("config", "short_term/config", "short_term/config/get", "long_term/config", "long_term/config/get")
_MEMORY = ("", "/episodic", "/episodic/long_term", "/episodic/short_term", "/semantic")
_RESOURCES = ("", "/{kind}", "/{kind}/{name}", "/{kind}/{name}/retry")
NOT_OFFERED = (
    *(f"/memories/semantic/{path}" for path in (*_SEMANTIC, "set_id/get", "set_id/list", "set/configure")),
    *(f"/memories/semantic/category{path}" for path in _CATEGORY),
    *(f"/memory/episodic/{path}" for path in _EPISODIC),
    "/config",
    *(f"/config/memory{path}" for path in _MEMORY),
    *(f"/config/resources{path}" for path in _RESOURCES),
)
"""Routes of a MemMachine server whose work a language model does there, or that configure the server."""


def respond(exchange: Exchange) -> Response:
    """Answer a request to /api/v2."""
    return _dispatch(exchange)


def render(error: AmError, request: Request) -> Response:  # noqa: ARG001 - every route family renders with these two
    """`{"detail": "<text>"}`: what both of MemMachine's clients print."""
    text = f"{error.field}: {error.reason}" if isinstance(error, Invalid) else error.message
    return json_response(error.status, {"detail": text})


def _counted(path: str, handler: Callable[[Exchange], Response]) -> Handler:
    """A handler whose requests are counted for the account that makes them."""

    def handle(exchange: Exchange) -> Response:
        started, status = time.perf_counter(), 500
        try:
            response = handler(exchange)
            status = response.status
            return response
        except AmError as error:
            status = error.status
            raise
        finally:
            if exchange.caller:
                METRICS.count(exchange.caller.account, path, status, time.perf_counter() - started)

    return handle


def _answering(endpoint: Endpoint) -> Handler:
    def handle(exchange: Exchange) -> Response:
        caller = authenticate(exchange)
        body = models.read(endpoint.body, {} if endpoint.body is models.Body else json_body(exchange.request))
        exchange.spend(caller)
        call = Call(caller, exchange.services, exchange.services.clock.now())
        made = endpoint.function(Asked(call, body, exchange.request.header("Idempotency-Key")))
        return Response(204) if endpoint.answer is None else json_response(endpoint.status, made)

    return _counted(endpoint.path, handle)


def json_body(request: Request) -> Any:
    """The body's value; an empty body is an empty object. Raises BadRequest when it is not UTF-8, and Refused."""
    media = (request.header("Content-Type") or "application/json").partition(";")[0].strip().lower()
    if not request.body.strip():
        return {}
    if media != "application/json" and not media.endswith("+json"):
        raise models.Refused("body: send JSON, and Content-Type: application/json")
    try:
        request.body.decode()
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8") from None
    try:
        return parse_json(request.body)
    except ValueError as problem:
        raise models.Refused(f"body: not JSON: {problem}") from None


def _health(_exchange: Exchange) -> Response:
    return json_response(200, {"status": "healthy", "service": "am-server", "version": __version__})


def _metrics(exchange: Exchange) -> Response:
    text = METRICS.text(authenticate(exchange).account)
    return Response(200, text.encode(), {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def _not_offered(exchange: Exchange) -> Response:
    """404 for a GET, which MemMachine's TypeScript client would otherwise try four times."""
    authenticate(exchange)
    raise NotFound(_NOT_HERE) if exchange.request.method in ("GET", "HEAD") else NotOffered(_NOT_HERE)


_NOT_HERE = (
    "this route is not offered here: there is no server to configure, and statements are made by fixed rules, without sets, "
    "categories or prompts. Statements are read with memories/list and memories/search"
)

_dispatch = dispatch(
    [
        *(Route("POST", PREFIX + endpoint.path, _answering(endpoint)) for endpoint in ENDPOINTS),
        Route("GET", f"{PREFIX}/health", _health),
        Route("GET", f"{PREFIX}/metrics", _counted("/metrics", _metrics)),
        *(Route(ANY, PREFIX + path, _counted(path, _not_offered)) for path in NOT_OFFERED),
    ]
)
