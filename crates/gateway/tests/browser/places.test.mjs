// What the page offers beyond the conversation: completion of files, access, the whole output, memory; two tabs, a skewed clock.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { openWorld, send, turnEnd, visit } from './open.mjs';
import { step } from './steps.mjs';
import { streamingModel } from './streaming.mjs';

describe('places', { timeout: 600_000 }, () => {
  const world = openWorld({
    files: { 'README.md': '# Hello\n', 'docs/notes.md': 'notes\n', 'big.txt': `${'a line of text\n'.repeat(20_000)}the last line\n` },
    config: '[rules]\nask = ["write_file(**)"]\n[gateway]\ninvoke_allow = ["exec"]\n',
  });
  let browser;
  let server;
  let page;
  before(() => {
    ({ browser, server, page } = world);
  });
  const toast = (text) => page.until(`“${text}”`, (wanted) => [...document.querySelectorAll('.toast')].some((each) => each.textContent.includes(wanted)), text);
  const clearToasts = () => page.evaluate(() => document.querySelectorAll('.toast').forEach((each) => each.remove()));
  const asked = (on) => on.until('question', () => document.querySelector('dialog.approval[open]') !== null);
  const answer = async (key) => {
    await asked(page);
    await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
    await page.press(key);
  };

  step('@ completes a file, and Tab takes it', async () => {
    await page.type('combobox', 'Message', 'read @no');
    await page.until('offer', () => document.querySelector('.suggest li')?.textContent === 'docs/notes.md');
    await page.press('Tab');
    assert.equal(await page.evaluate(() => document.querySelector('textarea').value), 'read @docs/notes.md ');
    await page.press('Enter');
    await turnEnd(page);
  });

  step('a file is dropped, shown, taken away, and goes with a message; another kind is refused', async () => {
    const drop = (name, bytes) =>
      page.evaluate(
        (called, content) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([new Uint8Array(content)], called));
          dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
        },
        name,
        bytes,
      );
    const chips = () => page.evaluate(() => [...document.querySelectorAll('.composer .chip')].map((each) => each.firstChild.textContent));
    await drop('odd.txt', [...Buffer.from('x')]);
    await drop('plan.txt', [...Buffer.from('the plan is simple')]);
    assert.deepEqual(await chips(), ['odd.txt', 'plan.txt']);
    await page.click('button', 'Remove odd.txt');
    assert.deepEqual(await chips(), ['plan.txt']);
    await send(page, 'what time is it');
    await page.until('message with its file', () =>
      [...document.querySelectorAll('.message.user .bubble')].at(-1)?.textContent.includes('what time is it\n\n[file plan.txt]'),
    );
    // The event of the message may come before the answer to the request that sent it.
    await page.until('composer without the file', () => !document.querySelector('.composer .chip'));
    await page.until('idle', () => document.querySelector('.composer .stop').hidden);
    await drop('a.zip', [0x50, 0x4b, 0xff, 0xfe]);
    await send(page, 'what time is it now');
    await toast('neither a picture');
    await clearToasts();
    await page.click('button', 'Remove a.zip');
    await page.evaluate(() => {
      document.querySelector('textarea').value = '';
      document.querySelector('textarea').dispatchEvent(new Event('input'));
    });
  });

  step('the access of the session is lowered with one click and raised after a question', async () => {
    await page.click('button', 'access: workspace-write ▾');
    await page.click('menuitem', '↓ read-only');
    await toast('read-only');
    await page.find('button', 'access: read-only ▾');
    await clearToasts();
    await send(page, 'write "a" to a.txt');
    await page.until('refusal', () => [...document.querySelectorAll('haft-call')].at(-1)?.call.state === 'denied');
    assert.equal(existsSync(join(server.workspace, 'a.txt')), false);
    await page.click('button', 'access: read-only ▾');
    await page.click('menuitem', '↑ workspace-write');
    await page.find('dialog', 'Raise the access of this session to workspace-write?');
    await page.click('button', 'Raise to workspace-write');
    await page.find('button', 'access: workspace-write ▾');
    await clearToasts();
  });

  step('two tabs: an answer in one closes the question of the other, and says who answered', async () => {
    const other = await browser.page({ context: page.context });
    await other.goto(await page.evaluate(() => location.href));
    await other.until('conversation', () => document.querySelector('haft-call') !== null);
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await send(page, 'write "b" to b.txt');
    await asked(other);
    await answer('y');
    await other.until('closed question', () => document.querySelector('dialog.approval') === null);
    await other.until('word on it', () => [...document.querySelectorAll('.toast')].some((each) => each.textContent.includes('allowed once by page')));
    await page.until('written file', () => [...document.querySelectorAll('haft-call')].at(-1)?.call.state === 'success');
    assert.equal(readFileSync(join(server.workspace, 'b.txt'), 'utf8'), 'b\n');
  });

  step('a clock that is an hour off shows the same time to answer', async () => {
    const skewed = await browser.page({ context: page.context });
    await skewed.send('Page.addScriptToEvaluateOnNewDocument', { source: `(${shiftClock})(3_600_000)` });
    await skewed.goto(await page.evaluate(() => location.href));
    await skewed.until('conversation', () => document.querySelector('haft-call') !== null);
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await send(page, 'write "c" to c.txt');
    await asked(skewed);
    const left = await skewed.until('countdown', () => document.querySelector('dialog.approval .countdown')?.textContent);
    assert.match(left, /expires in (2:0|1:[345])/);
    await answer('n');
    await page.until('closed question', () => document.querySelector('dialog.approval') === null);
  });

  step('a background process is shown with its memory and its last lines, and is killed', async () => {
    const call = await page.evaluate(async () => {
      const body = JSON.stringify({ arguments: { command: 'seq 200; sleep 300', background: true } });
      const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      return await (await fetch('/api/tools/exec/invoke', request)).json();
    });
    assert.equal(call.state, 'success', JSON.stringify(call).slice(0, 800));
    await visit(page, 'automation');
    const box = () => page.evaluate(() => document.querySelector('section[aria-label="seq 200; sleep 300"]').textContent);
    await page.until('its memory', () =>
      /running.*\d (k|M)B in memory/.test(document.querySelector('section[aria-label="seq 200; sleep 300"]')?.textContent),
    );
    // The newest line is in sight, without a step of the user.
    await page.until('its last line', () => {
      const output = document.querySelector('section[aria-label="seq 200; sleep 300"] .output');
      return output.textContent.includes('200') && output.scrollTop > 0 && output.scrollHeight - output.scrollTop - output.clientHeight < 2;
    });
    await page.click('button', 'Kill with all descendants');
    await page.until('its end', () => !document.querySelector('section[aria-label="seq 200; sleep 300"]').textContent.includes('running'));
    assert.doesNotMatch(await box(), /in memory|Kill/);
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
  });

  step('a command that runs shows its newest lines, and Escape stops it', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await send(page, 'run `for i in $(seq 1000); do echo step $i; sleep 0.1; done`');
    await page.until('its newest lines', () => {
      const [first, , last] = document.querySelector('haft-call .call-tail')?.textContent.split('\n').map((line) => Number(line.slice(5))) ?? [];
      return first > 6 && last > first;
    });
    await page.press('Escape');
    await page.until('its end', () => [...document.querySelectorAll('haft-call')].at(-1).call.state === 'cancelled');
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
  });

  step('the whole of an output that was cut is read page by page', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    const call = await page.evaluate(async () => {
      const body = JSON.stringify({ arguments: { command: 'cat big.txt' } });
      const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      return await (await fetch('/api/tools/exec/invoke', request)).json();
    });
    assert.equal(call.state, 'success', JSON.stringify(call).slice(0, 800));
    await page.evaluate((shown) => {
      const card = document.createElement('haft-call');
      card.call = shown;
      document.querySelector('.chat-main').prepend(card);
      card.toggle(true);
    }, call);
    await page.click('button', 'Full output…');
    await page.find('dialog', 'Output of exec');
    const where = () => page.evaluate(() => document.querySelector('dialog [role=status]').textContent);
    await page.until('first part', () => document.querySelector('dialog .output')?.textContent.startsWith('a line of text'));
    assert.match(await where(), /^0 B to 65\.\d kB of 300\.0 kB$/);
    for (let round = 0; round < 4; round += 1) {
      const before = await where();
      await page.click('button', 'Next');
      await page.until('next part', (shown) => document.querySelector('dialog [role=status]').textContent !== shown, before);
    }
    assert.match(await page.evaluate(() => document.querySelector('dialog .output').textContent), /the last line\n$/);
    assert.equal((await page.query('button', 'Next')).properties.some(({ name, value }) => name === 'disabled' && value.value), true);
    await page.click('button', 'Close');
  });

  step('memory: a note is added, found with its words marked, and forgotten', async () => {
    await visit(page, 'memory');
    await page.type('textbox', 'New note', 'Releases are on Fridays');
    await page.click('button', 'Remember');
    await answer('y');
    await toast('Remembered');
    await clearToasts();
    await page.type('searchbox', 'Search', 'Fridays');
    await page.until('marked word', () => document.querySelector('mark')?.textContent === 'Fridays');
    await page.click('button', 'MEMORY.md#L1');
    await page.find('button', 'Forget');
    await matchTree(page, 'memory', { role: 'main', name: '' });
    await page.click('button', 'Forget the whole file');
    await answer('y');
    await toast('Forgotten');
    assert.equal(existsSync(join(server.workspace, 'MEMORY.md')), false);
  });

  step('nothing in the console of the page is an error', () => assert.deepEqual(page.errors, []));
});

describe('restart', { timeout: 600_000 }, () => {
  const world = openWorld({
    first: async (opened) => {
      opened.site = await streamingModel();
      return { config: opened.site.config };
    },
  });

  step('a server that is killed in mid-stream leaves no doubled and no lost text', async () => {
    const { page, server, site } = world;
    const texts = () => [...document.querySelectorAll('.message.user .bubble, .message.assistant .rendered')].map((each) => each.textContent.trim());
    const asked = site.asked();
    await send(page, 'say words');
    await asked;
    site.say('one two ');
    site.say('three');
    await page.until('streamed words', () => document.querySelector('.message.assistant')?.textContent.includes('three'));
    assert.deepEqual(await page.evaluate(texts), ['say words', 'one two three']);
    const { host } = new URL(server.url);
    const ended = new Promise((resolve) => {
      server.child.once('exit', resolve);
    });
    server.child.kill('SIGKILL');
    await page.until('word on the connection', () => document.querySelector('.live').textContent.includes('reconnecting'));
    // The page may hear of it before the system has closed the port.
    await ended;
    await server.run(['--listen', host]);
    await page.until('live page', () => document.querySelector('.live').textContent.includes('live'));
    const again = site.asked();
    await send(page, 'once more');
    await again;
    site.say('four ');
    site.say('five');
    site.end();
    await turnEnd(page);
    const seen = await page.evaluate(texts);
    assert.deepEqual([seen.filter((text) => text === 'say words').length, seen.slice(-2)], [1, ['once more', 'four five']], JSON.stringify(seen));
    assert.ok(seen.filter((text) => text.includes('three')).length <= 1, JSON.stringify(seen));
  });

  step('usage is drawn by day and model, told apart without colours, and has a table', async () => {
    const { page } = world;
    await visit(page, 'usage');
    await page.find('heading', 'Tokens by day and model');
    const figures = () =>
      page.evaluate(() => ({
        bars: [...document.querySelectorAll('.plot rect[x] title')].map((each) => each.textContent),
        fills: [...document.querySelectorAll('.plot rect[x]')].every((each) =>
          document.querySelector(/#[^"]+/.exec(getComputedStyle(each).fill)?.[0]),
        ),
        legend: [...document.querySelectorAll('.legend li')].map((each) => each.textContent),
        heads: [...document.querySelectorAll('.plot th')].map((each) => each.textContent),
      }));
    const byTokens = await figures();
    assert.match(byTokens.bars.join(), /^\d\d-\d\d · words\/words: 1\.5k$/);
    assert.deepEqual([byTokens.fills, byTokens.heads], [true, ['', ...byTokens.legend, 'Sum']]);
    const choose = (value) =>
      page.evaluate((chosen) => {
        const measure = document.querySelector('select[aria-label="Measure"]');
        measure.value = chosen;
        measure.dispatchEvent(new Event('change'));
      }, value);
    await choose('kind');
    await page.find('heading', 'Tokens by day and kind');
    assert.deepEqual((await figures()).legend, ['input, new', 'input, cached', 'output']);
    await choose('cost');
    await page.find('heading', 'Cost by day and model, in dollars');
    assert.deepEqual((await figures()).legend, ['words/words (price unknown)']);
    assert.deepEqual(page.errors, []);
  });
});

/** Sets the clock of a page ahead. Runs in the page. */
function shiftClock(shift) {
  const real = Date.now;
  window.Date = class extends Date {
    constructor(...values) {
      if (values.length) super(...values);
      else super(real() + shift);
    }
    static now() {
      return real() + shift;
    }
  };
}
