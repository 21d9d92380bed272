"""The outermost layer of every function: one HTTP request in, one HTTP answer out, whatever happens between."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import flask

from am_server.edge import log
from am_server.edge.exchange import Exchange
from am_server.edge.faults import WrongMethod, envelope
from am_server.edge.http import Request, Response
from am_server.edge.origins import check_origin, cors_headers, preflight
from am_server.edge.receive import received
from am_server.edge.routes import Handler
from am_server.errors import AmError, RateLimited, Unauthorized
from am_server.store.metered import metering
from am_server.wiring import services as wired_services

if TYPE_CHECKING:
    from am_server.wiring import Services

NO_LIMIT = 2**53 - 1
"""What the rate-limit headers say for a tier without limit: the largest integer that every JSON reader agrees on."""

Failure = Callable[[AmError, Request], Response]


def entry(
    name: str, route: Handler, failure: Failure = envelope, services: Callable[[], Services] = wired_services
) -> Callable[[flask.Request], flask.Response]:
    """An HTTP function that functions-framework can serve.

    name      of the function, for its log lines
    route     answers an exchange, or raises an AmError
    failure   how this family of routes writes an AmError down
    """

    def function(incoming: flask.Request) -> flask.Response:
        started = time.perf_counter()
        request, problem = received(incoming)
        try:
            instance = services()
        except AmError as error:  # the settings cannot be used, so there is nothing to authenticate or log with
            return _outgoing(failure(error, request), {})
        with metering() as meter:
            exchange = Exchange(request, instance)
            response = _answer(exchange, route, failure, problem)
            headers = _common_headers(exchange)
        elapsed = (time.perf_counter() - started) * 1000
        headers["X-AM-Cost"] = f"reads={meter.reads};writes={meter.writes};rpcs={meter.rpcs}"
        headers["Server-Timing"] = f"total;dur={elapsed:.3f}, store;dur={meter.store_seconds * 1000:.3f}"
        log.write(log.line(exchange, name, response.status, elapsed, meter), instance.settings.log_level)
        return _outgoing(response, headers)

    function.__name__ = name
    if flask.has_app_context():
        # functions-framework keeps some paths to itself (/robots.txt, any with a line break) and answers them in HTML
        flask.current_app.register_error_handler(404, lambda _: function(flask.request))
    return function


def _answer(exchange: Exchange, route: Handler, failure: Failure, problem: AmError | None) -> Response:
    request = exchange.request
    try:
        check_origin(request, exchange.services.settings.allowed_origins)
        if request.method == "OPTIONS":
            return preflight()
        if problem:
            raise problem
        return route(exchange)
    except AmError as error:
        exchange.fault = error.type
        if error.status >= 500:
            exchange.bug = error.__cause__
        return _explained(error, failure(error, request))
    except Exception as bug:
        return failure(exchange.unexpected(bug), request)


def _explained(error: AmError, response: Response) -> Response:
    """The headers that belong to an error whatever its body looks like."""
    headers = dict(response.headers)
    if isinstance(error, Unauthorized):
        # no resource_metadata: with it, clients start an OAuth flow that this service does not have
        headers["WWW-Authenticate"] = 'Bearer realm="am-server", error="invalid_token"'
    elif isinstance(error, WrongMethod):
        headers["Allow"] = error.allow
    elif isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after)
    return Response(response.status, response.body, headers)


def _common_headers(exchange: Exchange) -> dict[str, str]:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Request-Id": exchange.request.id}
    headers.update(cors_headers(exchange.request, exchange.services.settings.allowed_origins))
    rate = exchange.rate_limit()
    if rate is not None:
        headers["X-RateLimit-Limit"] = str(NO_LIMIT if rate.limit is None else rate.limit)
        headers["X-RateLimit-Remaining"] = str(NO_LIMIT if rate.remaining is None else rate.remaining)
        headers["X-RateLimit-Reset"] = str(rate.reset)
    return headers


def _outgoing(response: Response, headers: dict[str, str]) -> flask.Response:
    out = flask.Response(response.body, response.status, {**response.headers, **headers})
    if "Content-Type" not in response.headers:
        del out.headers["Content-Type"]
    return out
