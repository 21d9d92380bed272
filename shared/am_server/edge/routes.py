"""The exact paths that a function serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from am_server.edge.exchange import Exchange
from am_server.edge.faults import WrongMethod, nothing_here
from am_server.edge.http import Response

Handler = Callable[[Exchange], Response]

ANY = "*"
"""As a method: the handler answers every one itself."""


@dataclass(frozen=True, slots=True)
class Route:
    """A method, a path such as `/v1/keys/{key_id}`, and who answers."""

    method: str
    template: str
    handler: Handler

    def match(self, path: str) -> Mapping[str, str] | None:
        """The variable parts of the path, or None when it is not this route's."""
        wanted, found = self.template.split("/"), path.split("/")
        if len(wanted) != len(found):
            return None
        params = {}
        for part, value in zip(wanted, found, strict=True):
            if part.startswith("{") and value:
                params[part[1:-1]] = value
            elif part != value:
                return None
        return params


def dispatch(routes: Sequence[Route]) -> Handler:
    """A handler that picks the route. One slash at the end of a path is ignored; a redirect would lose the body.

    Raises NotFound for an unknown path and WrongMethod for a known one asked with another method.
    """

    def handle(exchange: Exchange) -> Response:
        path = exchange.request.path
        path = path.removesuffix("/") if len(path) > 1 else path
        method = "GET" if exchange.request.method == "HEAD" else exchange.request.method
        allowed = []
        for route in routes:
            params = route.match(path)
            if params is None:
                continue
            exchange.template = route.template
            if route.method in (method, ANY):
                exchange.params = params
                return route.handler(exchange)
            allowed.append(route.method)
        if allowed:
            raise WrongMethod(", ".join(sorted(set(allowed))))
        raise nothing_here()

    return handle
