// Reads code from the control pipe, runs it, and prints the outcome between delimiters.
(() => {
  const fs = require('fs');
  const net = require('net');
  const util = require('util');
  const inspector = require('inspector');

  // The code gets an empty input; the control pipe moves to another descriptor that no child inherits.
  const control = new net.Socket({ fd: fs.openSync('/dev/fd/0', 'r'), readable: true, writable: false });
  fs.closeSync(0);
  fs.openSync('/dev/null', 'r');

  const write = process.stdout.write.bind(process.stdout);
  const complain = process.stderr.write.bind(process.stderr);
  const { setTimeout, clearTimeout } = globalThis;
  const { inspect } = util;
  // What the code starts and does not wait for must not take the interpreter along.
  process.on('uncaughtException', (error) => complain(`Uncaught ${inspect(error)}\n`));
  process.on('unhandledRejection', (error) => complain(`Unhandled rejection: ${inspect(error)}\n`));

  const session = new inspector.Session();
  session.connect();
  let handed;
  Object.defineProperty(globalThis, Symbol.for('haft.repl'), { value: (value) => { handed = value; }, enumerable: false });

  // The value itself: the inspector gives plain values as they are, and a handle for everything else.
  function fetched(result) {
    if (result.type === 'undefined') return undefined;
    if (!result.objectId) {
      if (!('unserializableValue' in result)) return result.value;
      const text = result.unserializableValue;
      return text.endsWith('n') ? BigInt(text.slice(0, -1)) : text === '-0' ? -0 : Number(text);
    }
    const { objectId } = result;
    const functionDeclaration = "function (value) { globalThis[Symbol.for('haft.repl')](value); }";
    session.post('Runtime.callFunctionOn', { functionDeclaration, objectId, arguments: [{ objectId }] });
    session.post('Runtime.releaseObject', { objectId });
    const value = handed;
    handed = undefined;
    return value;
  }

  function run(expression, nonce, limit) {
    return new Promise((done) => {
      const say = (word) => write(`\x1e${nonce}:${word}\x1e`);
      let over = false;
      const end = (word) => { if (!over) { over = true; clearTimeout(timer); say(word); done(); } };
      const timer = setTimeout(() => end('interrupted'), limit);
      session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true, timeout: limit }, (error, answer) => {
        if (over) return;
        if (error) {
          if (/terminated/i.test(error.message)) return end('interrupted');
          complain(`${error.message}\n`);
          return end('raised');
        }
        const { result, exceptionDetails } = answer;
        if (exceptionDetails) {
          const thrown = fetched(exceptionDetails.exception ?? { type: 'undefined' });
          say('trace');
          write(`Uncaught ${thrown instanceof Error ? trimmed(thrown) : inspect(thrown)}\n`);
          return end('raised');
        }
        const value = fetched(result);
        if (value !== undefined) {
          globalThis._ = value;
          say('value');
          write(shown(value));
        }
        end('done');
      });
    });
  }

  // A value may have its own idea of how it is shown, and fail at it.
  function shown(value) {
    try {
      return inspect(value, { depth: 4, maxArrayLength: 1000, maxStringLength: Infinity });
    } catch (error) {
      return `(a value that cannot be shown: ${error})`;
    }
  }

  // Without the frames of this file: they begin where the inspector was asked.
  function trimmed(error) {
    const lines = inspect(error).split('\n');
    const ours = lines.findIndex((line) => line.includes('(node:inspector:'));
    return (ours < 0 ? lines : lines.slice(0, ours)).join('\n');
  }

  let pending = Buffer.alloc(0);
  let busy = false;
  async function serve() {
    if (busy) return;
    busy = true;
    for (;;) {
      const end = pending.indexOf(10);
      if (end < 0) break;
      const [nonce, length, limit] = pending.subarray(0, end).toString().split(' ');
      const total = end + 1 + Number(length);
      if (pending.length < total) break;
      const code = pending.subarray(end + 1, total).toString();
      pending = pending.subarray(total);
      await run(code, nonce, Number(limit));
    }
    busy = false;
  }
  control.on('data', (piece) => { pending = Buffer.concat([pending, piece]); serve(); });
  control.on('close', () => process.exit(0));
})();
