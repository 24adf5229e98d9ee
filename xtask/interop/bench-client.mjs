// A client on the TypeScript SDK 2.x, for benchmarks.
// Usage: node bench-client.mjs call|ready|hold COUNT SERVER [ARGUMENT...]
// call: one cold call, its text on stdout. ready: seconds until COUNT servers are connected and listed.
// hold: resident bytes with COUNT connected servers.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [what, count, command, ...args] = process.argv.slice(2);

async function connect() {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(new StdioClientTransport({ command, args }));
    return client;
}

if (what === 'call') {
    const client = await connect();
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hello', path: '/srv/project' } });
    console.log(result.content[0].text);
    await client.close();
} else {
    const start = performance.now();
    const clients = await Promise.all(
        Array.from({ length: Number(count) }, async () => {
            const client = await connect();
            await client.listTools();
            return client;
        })
    );
    const seconds = (performance.now() - start) / 1000;
    const resident = Number(/^Rss:\s+(\d+)/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))[1]) * 1024;
    console.log(what === 'ready' ? seconds : resident);
    await Promise.all(clients.map((client) => client.close()));
}
