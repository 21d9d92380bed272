"""POST /mcp: the tools, over the Model Context Protocol."""

from am_server.edge.entry import entry
from am_server.edge.routes import ANY, Route, dispatch
from am_server.mcp.endpoint import render, respond

mcp = entry("mcp", dispatch([Route(ANY, "/mcp", respond)]), render)
