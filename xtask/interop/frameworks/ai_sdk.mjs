// The AI SDK: an MCP server's tools as a model's tools. The same steps as steps.py has; it has no way to hear of progress.
// Usage: node visit.mjs PLAN
import { existsSync, readFileSync } from 'node:fs';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';

const PATIENCE = 60_000;
const NOTICE = 10_000;
const RETURN = 40_000;
const plan = JSON.parse(process.argv[2]);
const seen = {};
let tools;

try {
    const transport = plan.url
        ? { type: 'http', url: plan.url }
        : new StdioTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: 'inherit' });
    const client = await createMCPClient({ transport, protocolVersionDiscovery: false, onUncaughtError: () => {} });
    tools = await client.tools();
    await step('list', list);
    await step('call', () => call('echo', { text: 'größer als zuvor' }));
    await step('coerced', () => call('add', { a: '2', b: '3' }));
    await step('error', () => call('fail', { reason: 'out of paper' }));
    await step('wrong', () => call('add', { a: 'many' }));
    await step('image', () => call('picture', {}));
    await step('structured', () => call('weather', { city: 'Oslo' }));
    await step('progress', async () => ({ reports: [], answer: await call('count', { steps: 3 }) }));
    await step('cancel', cancel);
    seen.killed = await killed();
    await Promise.race([client.close(), pause(NOTICE)]);
} catch (error) {
    seen.connection = raised(error);
}
const text = JSON.stringify(seen);
process.stdout.write(`${plan.prefix ? text.replaceAll(plan.prefix, '') : text}\n`, () => process.exit(0));

async function list() {
    const listed = {};
    for (const [name, tool] of Object.entries(tools)) {
        const schema = await tool.inputSchema?.jsonSchema;
        listed[name.replace(plan.prefix, '')] = { description: tool.description, title: tool.title ?? null, schema };
    }
    return listed;
}

async function cancel() {
    const before = [noted('asleep'), noted('cancelled')];
    const aborter = new AbortController();
    const calling = call('sleep', { seconds: 40 }, aborter.signal).then((answer) => ({ answer }), raised);
    await until(() => noted('asleep') > before[0], PATIENCE);
    aborter.abort();
    const ended = await calling;
    const told = await until(() => noted('cancelled') > before[1], 3_000);
    return { ended, told, then: await call('echo', { text: 'still here' }) };
}

async function killed() {
    const within = (work, patience) => Promise.race([work, pause(patience).then(() => ({ raised: 'TimeoutError' }))]).catch(raised);
    const died = await within(call('die', {}), NOTICE);
    const end = Date.now() + RETURN;
    let then;
    do {
        await pause(then ? 500 : 0);
        then = await within(call('echo', { text: 'back again' }), RETURN);
        // Without helve behind it a closed connection never comes back.
    } while (!JSON.stringify(then).includes('back again') && Date.now() < end && plan.prefix);
    return { died, then };
}

async function call(name, args, abortSignal) {
    return tools[plan.prefix + name].execute(args, { toolCallId: 'call-1', messages: [], abortSignal });
}

async function step(name, take) {
    const late = pause(PATIENCE).then(() => ({ raised: 'TimeoutError' }));
    seen[name] = await Promise.race([take(), late]).catch(raised);
}

async function until(holds, patience) {
    const end = Date.now() + patience;
    while (!holds()) {
        if (Date.now() > end) {
            return false;
        }
        await pause(50);
    }
    return true;
}

function noted(word) {
    const lines = existsSync(plan.notes) ? readFileSync(plan.notes, 'utf8').split('\n') : [];
    return lines.filter((line) => line.startsWith(word)).length;
}

function raised(error) {
    return { raised: error?.name ?? 'Error', message: String(error?.message ?? error) };
}

function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
