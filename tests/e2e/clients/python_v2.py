"""What the 2.x Python SDK gets from a server: connect, list, call. Run in an environment of its own."""

import asyncio
import json
import sys

import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, mode: str) -> dict[str, object]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = (await client.list_tools()).tools
        stored = await client.call_tool("memory_set_working", {"key": "k", "content": "from an SDK"})
        found = await client.call_tool("memory_get_working", {"key": "k"})
        refused = await client.call_tool("memory_get_working", {})
        try:
            await client.call_tool("memory_nope", {})
            unknown = None
        except MCPError as error:
            unknown = error.error.code
        return {
            "version": client.protocol_version,
            "instructions": client.instructions,
            "tools": [tool.name for tool in tools],
            "stored": stored.structured_content,
            "found": found.structured_content,
            "refused": [refused.is_error, refused.content[0].text],
            "unknown": unknown,
        }


print(json.dumps(asyncio.run(main(*sys.argv[1:4]))))
