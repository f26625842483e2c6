// The page itself: its size, its speed, two tabs, a restart of the server, every place by keyboard and on a phone.

import assert from 'node:assert/strict';
import { before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { smallTargets, unreachedByTab, weakContrasts } from './looks.mjs';
import { openWorld, send, turnEnd, visit } from './open.mjs';
import { step } from './steps.mjs';

const MOST_BYTES = 150_000;
/** What the first paint waits for, beside the document: files, and bytes of them. */
const MOST_BLOCKING = 2;
const MOST_BLOCKING_BYTES = 12_000;
/** Milliseconds of processor time that one frame may take. */
const FRAME = 32;
/** How many times the reference a task may take. */
const MOST_REFERENCES = 10;
const PLACES = [
  'chat',
  'inbox',
  'tools',
  'agents',
  'history',
  'usage',
  'changes',
  'policy',
  'automation',
  'connections',
  'memory',
  'doctor',
  'settings',
];
const EMPTY = ['connections', 'inbox', 'history', 'usage', 'changes', 'automation', 'memory'];
let browser;
let server;
let page;

/** Goes to a place, and waits until it has loaded what it shows. */
async function show(place, on = page) {
  await visit(on, place);
  await on.until(
    `loaded ${place}`,
    (name) => {
      const main = document.querySelector('main');
      const isThere =
        name === 'chat' ? main.querySelector('.welcome') : main.querySelector('h1')?.textContent.toLowerCase().startsWith(name);
      return isThere && !main.textContent.includes('Loading…');
    },
    place,
  );
}

describe('page', { timeout: 600_000 }, () => {
  const world = openWorld({ files: { 'README.md': '# Hello\n' } });
  before(() => {
    ({ browser, server, page } = world);
  });

  step('what opening it loads is small, and nothing comes from elsewhere', async () => {
    const sizes = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter((each) => !each.name.includes('/api/'))
        .map((each) => each.decodedBodySize),
    );
    const own = await page.evaluate(() => performance.getEntriesByType('navigation')[0].decodedBodySize);
    const sum = sizes.reduce((total, size) => total + size, own);
    const wire = await page.evaluate(() => performance.getEntriesByType('resource').reduce((total, each) => total + each.encodedBodySize, 0));
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    console.log(`opened: ${sum} bytes (${wire} on the way), first paint after ${Math.round(paint)} ms (budget: 200 ms)`);
    assert.ok(sum < MOST_BYTES, `${sum} bytes`);
    const blocking = await page.evaluate(() => performance.getEntriesByType('resource').filter((each) => each.renderBlockingStatus === 'blocking').map((each) => [each.name, each.decodedBodySize]));
    const blockingBytes = blocking.reduce((total, [, size]) => total + size, 0);
    // Milliseconds of a shared machine are printed only; what the paint waits for is the same everywhere.
    assert.ok(blocking.length > 0 && blocking.length <= MOST_BLOCKING && blockingBytes < MOST_BLOCKING_BYTES, JSON.stringify(blocking));
    assert.deepEqual(
      page.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:') && url !== 'about:blank'),
      [],
    );
  });

  step('the first screen', () => matchTree(page, 'first-screen'));

  for (const place of EMPTY) {
    step(`${place}, while it is empty, says what to do first`, async () => {
      await show(place);
      await matchTree(page, `empty-${place}`, { role: 'main', name: '' });
    });
  }

  step('the form and the explanation of a tool', async () => {
    await visit(page, 'tools/get_current_time');
    await page.find('tab', 'Explain');
    await matchTree(page, 'tool-form', { role: 'region', name: 'Tool' });
    await page.click('tab', 'Explain');
    await page.until('decision', () => document.querySelector('.detail .trace'));
    await matchTree(page, 'tool-explain', { role: 'region', name: 'Tool' });
  });

  step('every place can be used at 360 px: nothing is wider than the screen', async () => {
    const phone = await browser.page({ width: 360, height: 740, context: page.context });
    await phone.goto(`${server.url}/`);
    await phone.until('page', () => document.querySelector('.bottom-bar'));
    for (const place of PLACES) {
      await show(place, phone);
      const width = await phone.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${place} is ${width} px wide`);
      assert.deepEqual(await phone.evaluate(smallTargets), [], `${place} has what a finger does not hit`);
    }
    await show('chat', phone);
    const writing = await phone.until('message', () => document.querySelector('.composer textarea')?.offsetWidth);
    assert.ok(writing > 300, `the message is ${writing} px wide`);
    assert.deepEqual(phone.errors, []);
  });

  step('every control has a name, in every place', async () => {
    for (const place of PLACES) {
      await show(place);
      const { nodes } = await page.send('Accessibility.getFullAXTree');
      const roles = ['button', 'link', 'textbox', 'searchbox', 'checkbox', 'radio', 'combobox', 'tab', 'img', 'spinbutton'];
      const nameless = nodes.filter((node) => !node.ignored && roles.includes(node.role?.value) && !node.name?.value);
      assert.deepEqual(
        nameless.map((node) => `${place}: ${node.role.value}`),
        [],
      );
    }
  });

  step('every control of every place is reached with Tab, and shows that it has the focus', async () => {
    for (const place of PLACES) {
      await show(place);
      assert.deepEqual(await unreachedByTab(page), [], place);
    }
  });

  step('text has a contrast of at least 4.5 in every place, in light and in dark', async () => {
    for (const dark of [false, true]) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
      for (const place of PLACES) {
        await show(place);
        assert.deepEqual(await page.evaluate(weakContrasts), [], `${place}, ${dark ? 'dark' : 'light'}`);
      }
    }
  });

  step('keys: g then h shows the history, ? the list of keys, Ctrl-K finds a place and a setting', async () => {
    await show('inbox');
    await page.evaluate(() => document.querySelector('main').focus());
    await page.press('g');
    await page.press('h');
    await page.find('heading', 'History');
    await page.press('?');
    await page.find('dialog', 'Keys');
    await page.press('Escape');
    await page.press('k', 2);
    await page.type('combobox', 'Find', 'doctor');
    await page.press('Enter');
    await page.find('heading', 'Doctor');
    await page.press('k', 2);
    await page.type('combobox', 'Find', 'sandbox.backend');
    await page.find('option', /sandbox\.backend/);
    await page.press('Enter');
    await page.find('heading', 'Settings');
  });

  step('keys: [ hides the sessions and shows them again, one Escape closes the palette', async () => {
    await show('inbox');
    await page.evaluate(() => document.querySelector('main').focus());
    const isShown = () => document.querySelector('.rail').checkVisibility();
    await page.press('[');
    assert.equal(await page.evaluate(isShown), false);
    assert.ok((await page.evaluate(() => document.querySelector('main').offsetWidth)) > 1000);
    await page.press('[');
    assert.equal(await page.evaluate(isShown), true);
    await page.press('k', 2);
    await page.type('combobox', 'Find', 'doctor');
    await page.press('Escape');
    await page.until('no dialog', () => document.querySelector('dialog') === null);
  });

  step('two tabs agree', async () => {
    await show('chat');
    await page.find('heading', 'What should the agent do?');
    await send(page, 'read README.md');
    await turnEnd(page);
    const other = await browser.page({ context: page.context });
    await other.goto(await page.evaluate(() => location.href));
    await other.until(
      'end of the turn',
      () => document.querySelector('haft-call') !== null && document.querySelector('.message.assistant') !== null,
    );
    await send(page, 'what time is it?');
    const texts = () => [...document.querySelectorAll('.message.user .bubble, .call-line .tool')].map((each) => each.textContent).join('|');
    await page.until(
      'second call',
      () => document.querySelectorAll('haft-call').length === 2 && document.querySelectorAll('.message.assistant').length >= 2,
    );
    await other.until('second call', () => document.querySelectorAll('haft-call').length === 2);
    assert.equal(await other.evaluate(texts), await page.evaluate(texts));
  });

  step('10,000 calls scroll while text streams: few rows are in the document, and no task is long', async () => {
    await page.send('Accessibility.disable');
    await page.evaluate(manyCalls, 10_000);
    await page.evaluate(scrollWhileStreaming, 30);
    const reference = (await browser.taskTimes(() => page.evaluate(referenceTasks, 10)))[0];
    // Other programs on a busy machine empty the caches of the processor; in one of three rounds they may not.
    let times = [Infinity];
    let rows = 0;
    for (let round = 0; round < 3 && times[0] >= FRAME; round += 1) {
      const next = await browser.taskTimes(async () => {
        rows = Math.max(rows, await page.evaluate(scrollWhileStreaming, 200));
      });
      assert.ok(next.length > 200, `only ${next.length} tasks were seen`);
      if (next[0] < times[0]) times = next;
    }
    await page.send('Accessibility.enable');
    const longest = times.slice(0, 5).map((time) => time.toFixed(1));
    console.log(`longest tasks of a frame: ${longest} ms (budget: ${FRAME} ms); reference: ${reference.toFixed(1)} ms`);
    assert.ok(rows > 10 && rows < 200, `${rows} rows`);
    // Milliseconds of a shared machine are printed only; a list that drew all of its rows would take a hundred times as long.
    assert.ok(times[0] < MOST_REFERENCES * reference, `the longest tasks took ${longest} ms, the reference ${reference} ms`);
  });

  step('a restart of the server is shown, and survived without signing in again', async () => {
    await show('chat');
    await send(page, 'read README.md');
    await turnEnd(page);
    const { host } = new URL(server.url);
    await server.stop();
    await page.until('word on the connection', () => document.querySelector('.live').textContent.includes('reconnecting'));
    await server.run(['--listen', host]);
    await page.until('live page', () => document.querySelector('.live').textContent.includes('live'));
    await send(page, 'what time is it?');
    await page.until('second turn', () => document.querySelector('.message.assistant:nth-last-child(2)')?.textContent.includes('time'));
    // Nothing is lost or there twice.
    const seen = await page.evaluate(() =>
      [...document.querySelectorAll('.message.user .bubble, .call-line .tool')].map((each) => each.textContent),
    );
    assert.deepEqual(seen, ['read README.md', 'read_file', 'what time is it?', 'get_current_time']);
    assert.deepEqual(page.errors, []);
  });
});

/** Fills the shown conversation with calls. Runs in the page. */
async function manyCalls(count) {
  const [store] = Object.values(await import('/store.js'));
  const id = location.hash.split('/').at(-1);
  const transcript = store.transcripts.get(id);
  const call = (at) => ({
    id: `c${at}`,
    session: id,
    agent: 'main',
    tool: 'read_file',
    state: at % 50 === 7 ? 'error' : 'success',
    title: `src/file_${at}.rs`,
    outcome: '88 lines',
    message: 'File not found',
    duration_ms: at % 40,
    effects: [],
    images: [],
  });
  const items = [];
  for (let at = 0; at < count; at += 1) {
    items.push({ id: `i${at}`, type: 'call', response: `r${Math.ceil(at / 3)}`, call: call(at) });
    if (at % 3 === 0)
      items.push({ id: `a${at}`, type: 'assistant', text: 'Next file.', blocks: ['<p>The next file, with some words around it.</p>'] });
  }
  items.push({ id: 'growing', type: 'assistant', text: '', blocks: [''], streaming: true });
  transcript.load({ items, before: null, seq: 0 });
  const list = document.querySelector('haft-list');
  list.items = items;
  list.scrollTop = list.scrollHeight / 2;
}

/** Scrolls while text arrives, frame by frame; returns how many rows were in the document at most. Runs in the page. */
async function scrollWhileStreaming(count) {
  const [store] = Object.values(await import('/store.js'));
  const list = document.querySelector('haft-list');
  const id = location.hash.split('/').at(-1);
  const transcript = store.transcripts.get(id);
  let most = 0;
  for (let number = 0; number < count; number += 1) {
    const change = transcript.apply('text', { item: 'growing', delta: 'word ', blocks: [[0, `<p>${'word '.repeat(number)}</p>`]] }, 0);
    store.tell(`items:${id}`, { name: 'text', ...change });
    list.scrollTop += 400;
    await new Promise((done) => {
      requestAnimationFrame(() => setTimeout(done));
    });
    most = Math.max(most, document.querySelectorAll('.virtual-row').length);
  }
  return most;
}

/** Tasks of the same kind whose size is known: each builds and lays out 400 plain rows. Runs in the page. */
async function referenceTasks(count) {
  for (let number = 0; number < count; number += 1) {
    const box = document.createElement('div');
    for (let row = 0; row < 400; row += 1) {
      const line = document.createElement('div');
      line.append(`src/file_${row}.rs`);
      box.append(line);
    }
    document.body.append(box);
    box.getBoundingClientRect();
    box.remove();
    await new Promise((done) => {
      setTimeout(done);
    });
  }
}
