// A small server on the TypeScript SDK 2.x, for interop runs: one factory that serves both eras.
// Usage: node typescript-2-echo.mjs stdio | http
// Over HTTP it listens on a free port of 127.0.0.1 and says on stderr: "listening on port N".
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

function build() {
    const server = new McpServer(
        { name: 'typescript-2-echo', version: '1.0.0' },
        { instructions: 'Call echo with a text to get it back.' }
    );
    server.registerTool(
        'echo',
        { description: 'Answers with the given text', inputSchema: z.object({ text: z.string() }) },
        async ({ text }) => ({ content: [{ type: 'text', text }] })
    );
    server.registerTool(
        'add',
        {
            description: 'Adds two numbers',
            inputSchema: z.object({ a: z.number(), b: z.number() }),
            outputSchema: z.object({ sum: z.number() })
        },
        async ({ a, b }) => ({
            content: [{ type: 'text', text: String(a + b) }],
            structuredContent: { sum: a + b }
        })
    );
    server.registerResource('greeting', 'greeting://world', { mimeType: 'text/plain' }, async (uri) => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'hello, world' }]
    }));
    server.registerResource(
        'greeting-for',
        new ResourceTemplate('greeting://name/{name}', { list: undefined }),
        { mimeType: 'text/plain' },
        async (uri, { name }) => ({
            contents: [{ uri: uri.href, mimeType: 'text/plain', text: `hello, ${name}` }]
        })
    );
    server.registerPrompt('greet', { description: 'Greets', argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}` } }]
    }));
    return server;
}

switch (process.argv[2]) {
    case 'stdio':
        serveStdio(build);
        break;
    case 'http': {
        const listener = createServer(toNodeHandler(createMcpHandler(build)));
        listener.listen(0, '127.0.0.1', () => {
            process.stderr.write(`listening on port ${listener.address().port}\n`);
        });
        break;
    }
    default:
        process.stderr.write('usage: node typescript-2-echo.mjs stdio | http\n');
        process.exitCode = 2;
}
