"""GET /health, and a JSON 404 for every path that no other function serves."""

from am_server.edge.entry import entry
from am_server.edge.health import astray
from am_server.edge.health import health as report
from am_server.edge.routes import Route, dispatch

health = entry("health", dispatch([Route("GET", "/health", report)]), astray)
