"""The 2.x Python SDK with servers as client configurations name them: connect, list, store. Run in an environment of its own.

Reads a JSON list of {name, url, headers} or {name, command, args, env}; prints for each how many tools it saw.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx2
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def use(server: dict[str, object]) -> int:
    async with AsyncExitStack() as stack:
        if "url" in server:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=server["headers"]))
            transport = streamable_http_client(server["url"], http_client=http)
        else:
            transport = StdioServerParameters(command=server["command"], args=server["args"], env=server["env"])
        client = await stack.enter_async_context(Client(transport))
        tools = (await client.list_tools()).tools
        await client.call_tool("memory_set_working", {"key": server["name"], "content": "stored"})
        return len(tools)


async def main(servers: list[dict[str, object]]) -> dict[str, int]:
    return dict(zip([server["name"] for server in servers], await asyncio.gather(*map(use, servers)), strict=True))


print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
