// An agent on the TypeScript SDK, 1.x or 2.x, for interop runs: what it sees of a server is one line of JSON on stdout.
// Usage: node agent.mjs PLAN
// PLAN is a JSON object:
//   name     what it answers with when it is asked
//   sdk      1 or 2
//   era      "legacy" or "modern" (SDK 2 only)
//   url      where the server listens; with sse: true, by the older transport; or
//   command  with args and env: how it is started
//   tools    how tools are called: "{server}__{tool}"
//   scratch  a directory that the file server may write to
// Every step is answered with what was seen or with {"error": ...}; who judges them is the one who asked.

const plan = JSON.parse(process.argv[2]);
const PATIENCE = 60_000;
const { Client, StdioTransport, HttpTransport, SseTransport, methods, callTool } = await sdk(plan.sdk);

// What the server asked of us, and told us.
const asked = { sampling: null, elicitation: null };
const updated = events();

const options = { capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } } };
if (plan.era === 'modern') {
    options.versionNegotiation = { mode: { pin: '2026-07-28' } };
}
const client = new Client({ name: `agent-typescript-${plan.sdk}`, version: '1.0.0' }, options);
client.setRequestHandler(methods.sampling, async ({ params }) => {
    asked.sampling = params.messages[0].content.text;
    return { role: 'assistant', model: 'scripted', content: { type: 'text', text: `as scripted by ${plan.name}` } };
});
client.setRequestHandler(methods.elicitation, async ({ params }) => {
    asked.elicitation = params.message;
    return { action: 'accept', content: { name: plan.name, integer: 42 } };
});
client.setRequestHandler(methods.roots, async () => ({
    roots: [{ uri: `file://${plan.scratch}`, name: 'scratch' }]
}));
client.setNotificationHandler(methods.updated, ({ params }) => updated.push(params.uri));

const seen = {};
await step('connect', async () => {
    await client.connect(transport(), { timeout: PATIENCE });
    return version();
});
if (!seen.connect.error) {
    await step('list', list);
    await step('call', calls);
    await step('read', read);
    await step('progress', progress);
    await step('cancel', cancel);
    await step('subscribe', subscribe);
    await step('appear', appear);
    await step('sample', async () => ({
        text: await call('everything', 'trigger-sampling-request', { prompt: `hello from ${plan.name}` }),
        asked: asked.sampling
    }));
    await step('elicit', async () => ({
        text: await call('everything', 'trigger-elicitation-request', {}),
        asked: asked.elicitation
    }));
    await step('roots', () => call('everything', 'get-roots-list', {}));
    await step('close', async () => {
        await client.transport.terminateSession?.();
        await client.close();
        return true;
    });
}
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));

async function list() {
    const tools = await listed();
    const { prompts } = await client.listPrompts();
    const { resources } = await client.listResources();
    return { tools, prompts: prompts.map(({ name }) => name), resources: resources.map(({ uri }) => uri) };
}

async function calls() {
    const path = `${plan.scratch}/agent.txt`;
    return {
        echo: await call('everything', 'echo', { message: 'größer' }),
        write: await call('filesystem', 'write_file', { path, content: 'written' }),
        read: await call('filesystem', 'read_text_file', { path }),
        time: await call('time', 'get_current_time', { timezone: 'UTC' })
    };
}

async function read() {
    const { contents } = await client.readResource({ uri: await dynamic() });
    const { prompts } = await client.listPrompts();
    const name = prompts.map(({ name }) => name).find((name) => name.endsWith('args-prompt'));
    const { messages } = await client.getPrompt({ name, arguments: { city: 'Oslo' } });
    return { resource: contents[0].text, prompt: messages[0].content.text };
}

/**
 * In the modern era what a server asks of its own accord (for our roots, say) is asked within the next call. The SDK then
 * reports a round of its own, without a total, and does not listen to progress when it calls again: so do we, once more.
 */
async function progress() {
    for (;;) {
        const reports = [];
        const onprogress = ({ progress, total }) => reports.push([progress, total]);
        await call('everything', 'trigger-long-running-operation', { duration: 1, steps: 4 }, { onprogress });
        if (reports.every(([, total]) => total !== undefined)) {
            return reports;
        }
    }
}

async function cancel() {
    const aborter = new AbortController();
    // The first report proves that the server is at it.
    const onprogress = () => aborter.abort('enough');
    const request = { duration: 20, steps: 100 };
    const ended = await call('everything', 'trigger-long-running-operation', request, {
        onprogress,
        signal: aborter.signal
    }).then(
        (text) => ({ text }),
        (error) => ({ refused: String(error?.message ?? error) })
    );
    return { ...ended, then: await call('everything', 'echo', { message: 'still here' }) };
}

async function subscribe() {
    const uri = await dynamic();
    const subscription = plan.era === 'modern' ? await client.listen({ resourceSubscriptions: [uri] }) : null;
    if (!subscription) {
        await client.subscribeResource({ uri });
    }
    await call('everything', 'toggle-subscriber-updates', {});
    const update = await within(updated.next(), 'no update came');
    await call('everything', 'toggle-subscriber-updates', {});
    await (subscription ? subscription.close() : client.unsubscribeResource({ uri }));
    return { uri, update };
}

/** The address of a resource that can be subscribed to. */
async function dynamic() {
    const { resourceTemplates } = await client.listResourceTemplates();
    const { uriTemplate } = resourceTemplates.find(({ uriTemplate }) => uriTemplate.includes('dynamic/text/'));
    return uriTemplate.replace('{resourceId}', '1');
}

/** Servers may show more tools once they know us; the end of patience is the end of the step. */
async function appear() {
    const wanted = named('everything', 'trigger-elicitation-request');
    for (;;) {
        const tools = await listed();
        if (tools.includes(wanted)) {
            return tools;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
}

async function listed() {
    const names = [];
    let cursor;
    do {
        const page = await client.listTools({ cursor }, { cacheMode: 'refresh' });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
    } while (cursor);
    return names;
}

async function call(server, tool, args, more = {}) {
    const result = await callTool(client, { name: named(server, tool), arguments: args }, { timeout: PATIENCE, ...more });
    const text = result.content.map((block) => block.text ?? '').join('\n');
    if (result.isError) {
        throw new Error(`${tool} failed: ${text}`);
    }
    return text;
}

function named(server, tool) {
    return plan.tools.replace('{server}', server).replace('{tool}', tool);
}

/** SDK 1.x keeps it to itself on stdio. */
function version() {
    return client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? 'not told';
}

function transport() {
    if (plan.url) {
        return new (plan.sse ? SseTransport : HttpTransport)(new URL(plan.url));
    }
    return new StdioTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: 'inherit' });
}

async function step(name, take) {
    try {
        seen[name] = await within(take(), `${name} took too long`);
    } catch (error) {
        seen[name] = { error: String(error?.message ?? error) };
    }
}

async function within(promise, complaint) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(complaint)), PATIENCE);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A queue whose readers wait. */
function events() {
    const come = [];
    const waiting = [];
    return {
        push: (event) => (waiting.length > 0 ? waiting.shift()(event) : come.push(event)),
        next: () => (come.length > 0 ? Promise.resolve(come.shift()) : new Promise((resolve) => waiting.push(resolve)))
    };
}

/** Where the two lines of releases differ. */
async function sdk(line) {
    if (line === 1) {
        const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
        const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
        const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
        const types = await import('@modelcontextprotocol/sdk/types.js');
        return {
            Client,
            StdioTransport: StdioClientTransport,
            HttpTransport: StreamableHTTPClientTransport,
            SseTransport: SSEClientTransport,
            methods: {
                sampling: types.CreateMessageRequestSchema,
                elicitation: types.ElicitRequestSchema,
                roots: types.ListRootsRequestSchema,
                updated: types.ResourceUpdatedNotificationSchema
            },
            callTool: (client, params, options) => client.callTool(params, undefined, options)
        };
    }
    const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    return {
        Client,
        StdioTransport: StdioClientTransport,
        HttpTransport: StreamableHTTPClientTransport,
        SseTransport: SSEClientTransport,
        methods: {
            sampling: 'sampling/createMessage',
            elicitation: 'elicitation/create',
            roots: 'roots/list',
            updated: 'notifications/resources/updated'
        },
        callTool: (client, params, options) => client.callTool(params, options)
    };
}
