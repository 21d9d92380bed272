"""/v1/keys and /v1/usage: accounts, their agents, their keys, and what they have used."""

from am_server.edge.entry import entry
from am_server.edge.routes import dispatch
from am_server.identity.routes import ROUTES

keys = entry("keys", dispatch(ROUTES))
