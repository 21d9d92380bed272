// What a TypeScript SDK gets from a server: connect, list, call.
// node typescript.cjs URL KEY 1|2 [auto|legacy]
const [url, key, generation, mode] = process.argv.slice(2);

function makeClient() {
  const requestInit = { headers: { 'X-API-Key': key } };
  const me = { name: 'test', version: '1' };
  if (generation === '1') {
    const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return [new Client(me), new StreamableHTTPClientTransport(new URL(url), { requestInit })];
  }
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  return [
    new Client(me, { versionNegotiation: { mode } }),
    new StreamableHTTPClientTransport(new URL(url), { requestInit }),
  ];
}

async function main() {
  const [client, transport] = makeClient();
  await client.connect(transport);
  const { tools } = await client.listTools();
  const stored = await client.callTool({ name: 'memory_set_working', arguments: { key: 'k', content: 'from an SDK' } });
  const found = await client.callTool({ name: 'memory_get_working', arguments: { key: 'k' } });
  const refused = await client.callTool({ name: 'memory_get_working', arguments: {} });
  const unknown = await client.callTool({ name: 'memory_nope', arguments: {} }).then(() => null, (error) => error.code);
  console.log(JSON.stringify({
    version: transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.(),
    instructions: client.getInstructions(),
    tools: tools.map((tool) => tool.name),
    stored: stored.structuredContent,
    found: found.structuredContent,
    refused: [refused.isError, refused.content[0].text],
    unknown,
  }));
  await client.close();
}

main().catch((error) => { console.error(error); process.exit(1); });
