// The state of the page without a browser: events are applied once and in order, and the stream resumes where it broke.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

// Node takes files that end in .js for modules only where a package says so; the page needs no package.
const folder = mkdtempSync(join(tmpdir(), 'haft-page-'));
cpSync(fileURLToPath(new URL('../../page', import.meta.url)), folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
after(() => rmSync(folder, { recursive: true }));
const { duration, money, tokens } = await import(join(folder, 'format.js'));
const { EventStream } = await import(join(folder, 'stream.js'));
const { Transcript } = await import(join(folder, 'transcript.js'));

const text = (id, more = {}) => ({ id, type: 'assistant', text: '', blocks: [], streaming: true, ...more });
const call = (id, state) => ({ id, session: 's', tool: 'exec', state });

test('events that came while the page was loading are applied once, older ones not at all', () => {
  const transcript = new Transcript();
  transcript.apply('text', { item: 'a', delta: 'old ', blocks: [] }, 4);
  transcript.apply('text', { item: 'a', delta: 'new', blocks: [[0, '<p>new</p>']] }, 6);
  transcript.load({ items: [text('a', { text: 'old ' })], before: null, seq: 5 });
  assert.equal(transcript.item('a').text, 'old new');
  transcript.apply('text', { item: 'a', delta: 'new', blocks: [[0, '<p>new</p>']] }, 6);
  assert.equal(transcript.item('a').text, 'old new');
  assert.deepEqual(transcript.item('a').blocks, ['<p>new</p>']);
});

test('a new item ends the text before it, a known one replaces itself', () => {
  const transcript = new Transcript();
  transcript.load({ items: [text('a')], before: null, seq: 0 });
  const change = transcript.apply('item', { item: { id: 'c', type: 'call', call: call('1', 'running') } }, 1);
  assert.deepEqual([change.isNew, change.ended.id, transcript.item('a').streaming], [true, 'a', false]);
  assert.equal(transcript.apply('item', { item: { id: 'c', type: 'call', call: call('1', 'success') } }, 2).isNew, false);
  assert.equal(transcript.items.length, 2);
});

test('progress keeps three lines, also over a change of the call', () => {
  const transcript = new Transcript();
  transcript.load({ items: [{ id: 'c', type: 'call', call: call('1', 'running') }], before: null, seq: 0 });
  for (const line of ['1', '2', '3', '4']) transcript.apply('progress', { call: '1', line }, 0);
  transcript.apply('call', { call: call('1', 'running') }, 1);
  assert.deepEqual(transcript.callItem('1').call.lines, ['2', '3', '4']);
  assert.equal(transcript.apply('call', { call: call('unknown', 'running') }, 2), null);
});

test('older pages go in front without doubles', () => {
  const transcript = new Transcript();
  transcript.load({ items: [text('b')], before: 1, seq: 0 });
  transcript.prepend({ items: [text('a'), text('b')], before: null });
  assert.deepEqual(
    transcript.items.map((item) => item.id),
    ['a', 'b'],
  );
});

/** Stands for the browser's, and keeps what was opened. */
class FakeSource {
  static opened = [];
  static OPEN = 1;
  readyState = 1;
  listeners = new Map();
  constructor(url) {
    this.url = url;
    FakeSource.opened.push(this);
  }
  addEventListener(name, listener) {
    this.listeners.set(name, listener);
  }
  close() {
    this.readyState = 2;
  }
  say(name, data, id = '') {
    this.listeners.get(name)({ data: JSON.stringify(data), lastEventId: id });
  }
}

test('a broken stream is opened again after the last event, and not after a revocation', async () => {
  globalThis.EventSource = FakeSource;
  const states = [];
  const received = [];
  const stream = new EventStream({
    after: 10,
    events: Object.fromEntries(['hello', 'bye', 'text'].map((name) => [name, (data, seq) => received.push([name, seq])])),
    connected: (state) => states.push(state),
    check: async () => true,
  });
  stream.open();
  assert.match(FakeSource.opened[0].url, /after=10$/);
  FakeSource.opened[0].say('hello', { seq: 10 });
  FakeSource.opened[0].say('text', { delta: 'x' }, '12');
  FakeSource.opened[0].listeners.get('text')({ data: 'not JSON', lastEventId: '13' });
  FakeSource.opened[0].onerror();
  for (let round = 0; round < 100 && FakeSource.opened.length < 2; round += 1)
    await new Promise((done) => {
      setTimeout(done, 50);
    });
  assert.equal(FakeSource.opened.length, 2);
  assert.match(FakeSource.opened[1].url, /after=12$/);
  assert.deepEqual(received, [
    ['hello', 0],
    ['text', 12],
  ]);
  FakeSource.opened[1].say('hello', { seq: 12 });
  FakeSource.opened[1].say('bye', { reason: 'revoked' });
  FakeSource.opened[1].onerror();
  await new Promise((done) => {
    setTimeout(done, 1000);
  });
  assert.equal(FakeSource.opened.length, 2);
  assert.deepEqual(states, ['connecting', 'live', 'connecting', 'connecting', 'live', 'ended']);
});

test('a new to-do list tells the listeners of its session', async () => {
  globalThis.EventSource = FakeSource;
  const answers = {
    '/api/me': { seq: 1 },
    '/api/sessions': { sessions: [{ id: 's' }] },
    '/api/approvals': { approvals: [] },
    '/api/sessions/s/items': { items: [], before: null, seq: 1 },
    '/api/sessions/s/todos': { todos: [] },
  };
  globalThis.fetch = async (path) => Response.json(answers[path.split('?')[0]]);
  const { store } = await import(join(folder, 'store.js'));
  await store.start();
  const transcript = await store.transcript('s');
  const told = [];
  store.on('sessions', (session) => told.push([session?.id, transcript.todos.length]));
  FakeSource.opened.at(-1).say('todos', { session: 's', todos: [{ content: 'tea', status: 'pending' }] }, '2');
  assert.deepEqual(told, [['s', 1]]);
  store.stop();
});

test('numbers have units, and an unknown price is not zero', () => {
  assert.deepEqual(
    [duration(0.4), duration(4), duration(950), duration(6200), duration(75_000), duration(7_300_000)],
    ['0.4 ms', '4 ms', '950 ms', '6.2 s', '1 min 15 s', '2 h 1 min'],
  );
  assert.deepEqual([money(null), money(0), money(0.0021), money(1.2)], ['price unknown', '$0', '$0.0021', '$1.20']);
  assert.deepEqual([tokens(12), tokens(12_300), tokens(1_200_000)], ['12', '12.3k', '1.20M']);
});
