"""POST /v1/space-token: tokens for shared spaces, invitations to them, and the removal of members."""

from am_server.edge.entry import entry
from am_server.edge.routes import dispatch
from am_server.identity.space_routes import ROUTES

space_token = entry("space_token", dispatch(ROUTES))
