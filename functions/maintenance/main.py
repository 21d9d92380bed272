"""POST /: the daily upkeep. No route leads here; only the scheduler's identity may call."""

from am_server.edge.entry import entry
from am_server.edge.exchange import Exchange
from am_server.edge.http import Response, json_response
from am_server.edge.routes import Route, dispatch


def upkeep(exchange: Exchange) -> Response:
    from am_server.maintenance import Run, maintain  # loads numpy, which a refused request should not

    return json_response(200, maintain(Run(exchange.services)))


maintenance = entry("maintenance", dispatch([Route("POST", "/", upkeep)]))
