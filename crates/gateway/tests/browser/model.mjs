// A model that does what a test tells it.

import { createServer } from 'node:http';

/**
 * A provider that answers with the next step of a script, and remembers what it was sent. A step is a text, the arguments of a call of
 * `tool`, or a list of calls: `[['read_file', { path: 'a' }], …]`. Each answer used what `usage` says, if it is given.
 */
export async function scriptedModel(tool, usage) {
  const asked = [];
  const steps = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      asked.push(body);
      const next = steps.shift() ?? 'Nothing more.';
      const calls = Array.isArray(next) ? next : [[tool, next]];
      const call = ([name, values], at) => ({ id: `c${asked.length}-${at}`, type: 'function', function: { name, arguments: JSON.stringify(values) } });
      const message =
        typeof next === 'string'
          ? { role: 'assistant', content: next }
          : { role: 'assistant', content: null, tool_calls: calls.map(call) };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: typeof next === 'string' ? 'stop' : 'tool_calls' }], usage }));
    });
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { asked, steps, url: `http://127.0.0.1:${server.address().port}/v1`, close };
}
