"""MCP over Streamable HTTP: JSON-RPC, both eras of the protocol, the tools' list and calls. Answers are always JSON."""
