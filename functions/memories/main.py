"""/api/v2: memories as MemMachine clients ask for them."""

from am_server.edge.entry import entry
from am_server.rest.routes import render, respond

memories = entry("memories", respond, render)
