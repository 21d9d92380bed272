"""What the 1.x Python SDK gets from a server: connect, list, call. Run in an environment of its own."""

import asyncio
import json
import sys

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str) -> dict[str, object]:
    async with (
        httpx.AsyncClient(headers={"X-API-Key": key}) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        hello = await session.initialize()
        await session.send_ping()
        tools = (await session.list_tools()).tools
        stored = await session.call_tool("memory_set_working", {"key": "k", "content": "from an SDK"})
        found = await session.call_tool("memory_get_working", {"key": "k"})
        refused = await session.call_tool("memory_get_working", {})
        try:
            await session.call_tool("memory_nope", {})
            unknown = None
        except McpError as error:
            unknown = error.error.code
        return {
            "version": hello.protocolVersion,
            "instructions": hello.instructions,
            "tools": [tool.name for tool in tools],
            "stored": stored.structuredContent,
            "found": found.structuredContent,
            "refused": [refused.isError, refused.content[0].text],
            "unknown": unknown,
        }


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2]))))
