// A model that speaks the protocol of OpenAI and answers word by word, as slowly as the test wants.

import { createServer } from 'node:http';

/** What each answer used. */
const USAGE = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };

/** Words come when the test calls `say`; `end` ends the answer. */
export async function streamingModel() {
  let open = null;
  let opened = () => {};
  const sockets = new Set();
  const server = createServer((request, response) => {
    request.resume();
    if (!request.url.endsWith('/chat/completions')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"data": [{"id": "words"}]}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    open = response;
    opened();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const chunk = (delta, finish = null) =>
    open.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'words', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return {
    config: `model = "words/words"\n[providers.words]\nprotocol = "openai"\nbase_url = "${url}"\nmodels = ["words"]\n`,
    /** Resolves when the model is asked. */
    asked: () =>
      new Promise((resolve) => {
        opened = resolve;
      }),
    say: (content) => chunk({ role: 'assistant', content }),
    end: () => {
      chunk({}, 'stop');
      open.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'words', choices: [], usage: USAGE })}\n\n`);
      open.end('data: [DONE]\n\n');
    },
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        sockets.forEach((socket) => socket.destroy());
      }),
  };
}
