// A conversation with cards in all their states, and the places that list them: contrast, size, keyboard, and what a screen reader gets.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { smallTargets, unreachedByTab, weakContrasts } from './looks.mjs';
import { scriptedModel } from './model.mjs';
import { openWorld, send, visit } from './open.mjs';
import { step } from './steps.mjs';

const COLOURS = [30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 92, 93, 94, 95, 96, 97, 40, 41, 42, 43, 44, 45, 46, 47, 101, 104].map((code) => `\\033[${code}m${code}\\033[0m`);
const CALLS = [
  [['todo_write', { todos: [{ content: 'Look', active_form: 'Looking', status: 'completed' }, { content: 'Fix', active_form: 'Fixing', status: 'in_progress' }] }]],
  [['read_file', { path: 'README.md' }], ['read_file', { path: 'missing.txt' }], ['write_file', { path: 'secret.txt', content: 'x' }]],
  [['edit_file', { path: 'src/a.rs', old_string: 'n > 1', new_string: 'n >= 1' }]],
  [['exec', { command: `printf '${COLOURS.join(' ')}\\n'; exit 3` }]],
];
const ANSWER = 'Done. **All** of it, with `code`:\n\n```rust\nfn main() { let n = 1; } // a comment\n```\n\n| a | b |\n|---|---|\n| 1 | [link](https://example.org) |\n';

describe('looks', { timeout: 600_000 }, () => {
  let model;
  const world = openWorld({
    first: async () => {
      model = await scriptedModel('exec');
      const config = `model = "work/m"\n[providers.work]\nprotocol = "openai"\nbase_url = "${model.url}"\n[rules]\nask = ["write(asked.txt)", "exec(ls *)"]\ndeny = ["write(secret.txt)"]\n`;
      return { config, files: { 'README.md': '# Hello\n', 'src/a.rs': 'fn main() {\n    if n > 1 {}\n}\n' } };
    },
  });
  after(() => model?.close());
  let page;
  let chat;
  before(() => {
    ({ page } = world);
  });
  const themes = async (what, check) => {
    for (const dark of [false, true]) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
      await check(`${what}, ${dark ? 'dark' : 'light'}`);
    }
  };

  step('cards in all their states', async () => {
    model.steps.push(...CALLS, ANSWER);
    await send(page, 'fix it');
    await page.until('the end', () => document.querySelector('.tools-line') !== null && document.querySelectorAll('haft-call').length === 6);
    model.steps.push([['exec', { command: 'echo begun; sleep 300' }]]);
    await send(page, 'run it');
    await page.until('a card that runs', () => document.querySelector('.call-tail:not([hidden])')?.textContent === 'begun');
    await themes('running', async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    await page.press('Escape');
    await page.until('a card that is cancelled', () => [...document.querySelectorAll('haft-call')].at(-1).call.state === 'cancelled');
    const states = await page.evaluate(() => [...document.querySelectorAll('haft-call')].map((each) => each.call.state));
    assert.deepEqual(states, ['success', 'success', 'error', 'denied', 'success', 'error', 'cancelled']);
    chat = await page.evaluate(() => location.hash.slice(2));
    const joined = [false, false, true, true, false, false, false];
    await page.until('one frame of the calls of one response', areJoined, joined);
    await matchTree(page, 'cards', { role: 'list', name: 'Conversation' });
    const other = await world.browser.page({ context: page.context });
    await other.goto(await page.evaluate(() => location.href));
    await other.until('the frame, from what is stored', areJoined, joined);
    await other.goto('about:blank');
  });

  step('open cards, on each of their tabs, are readable in light and in dark', async () => {
    await page.evaluate(() => document.querySelectorAll('haft-call').forEach((each) => ['edit_file', 'exec'].includes(each.call.tool) && each.toggle(true)));
    for (const tab of ['Result', 'Input', 'Diff', 'Effects', 'Decision']) {
      await page.evaluate((name) => document.querySelectorAll('haft-call [role=tab]').forEach((each) => each.textContent === name && each.click()), tab);
      await page.until(`tab ${tab}`, () => !document.querySelector('.transcript').textContent.includes('Loading…'));
      await themes(tab, async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    }
    await page.click('button', 'Panel');
    await page.find('heading', 'CHANGED FILES');
    await page.find('button', 'Undo all of this session…');
    const tool = await page.evaluate(() => {
      const card = document.querySelector('haft-call');
      card.querySelector('.call-line').focus();
      return card.call.tool;
    });
    await page.find('heading', `TRACE OF ${tool.toUpperCase()}`);
    await page.until('its steps', () => document.querySelector('.panel .trace') !== null);
    assert.deepEqual(await unreachedByTab(page, '.panel'), []);
    await page.click('button', 'Panel');
  });

  step('a question is readable in light and in dark, and its dialog keeps the focus', async () => {
    model.steps.push([['write_file', { path: 'asked.txt', content: 'new\n' }]], 'Denied.');
    await send(page, 'write it');
    await page.until('armed buttons', () => {
      const buttons = [...document.querySelectorAll('dialog.approval button')];
      return buttons.length > 0 && !buttons.some((each) => each.disabled);
    });
    assert.match(await page.evaluate(() => document.querySelector('dialog.approval').textContent), /“Session” and “always” are off because an ask rule/);
    await themes('question', async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    for (let pressed = 0; pressed < 12; pressed += 1) {
      await page.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)), true);
    }
    const phone = await world.browser.page({ width: 360, height: 740, context: page.context });
    await phone.goto(`${world.server.url}/#/${chat}`);
    await phone.until('the sheet', () => document.querySelector('dialog.approval[open]') !== null);
    const { left, right, bottom } = await phone.evaluate(() => document.querySelector('dialog.approval').getBoundingClientRect().toJSON());
    assert.deepEqual([left, right, bottom], [0, 360, 740], 'the question is a sheet at the bottom');
    assert.deepEqual(await phone.evaluate(smallTargets), []);
    await phone.press('Escape');
    await phone.until('no sheet', () => document.querySelector('dialog') === null);
    await visit(phone, 'inbox');
    await phone.find('button', 'Answer…');
    assert.deepEqual(await phone.evaluate(smallTargets), []);
    await page.press('Escape');
    await visit(page, 'inbox');
    await page.find('button', 'Answer…');
    await themes('inbox', async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    await matchTree(page, 'inbox', { role: 'main', name: '' });
    // The conversation opens its question again.
    await visit(page, chat);
    await page.until('armed buttons', () => document.querySelector('dialog.approval button.primary')?.disabled === false);
    await page.press('n');
    await page.until('idle', () => document.querySelector('.composer .stop').hidden);
  });

  step('a long command has each of its words in a line', async () => {
    const words = ['--almost-all', '--block-size=1', '--color=never', '--group-directories-first', "'a b'", "'c\nd'", '.'];
    model.steps.push([['exec', { command: `ls ${words.join(' ')}` }]], 'Denied.');
    await send(page, 'list it');
    await page.until('armed buttons', () => document.querySelector('dialog.approval button.primary')?.disabled === false);
    const lines = await page.evaluate(() => [...document.querySelectorAll('dialog.approval .words > *')].map((each) => each.textContent));
    // A word with a line break looks like one.
    assert.deepEqual(lines.slice(1), words.map((word) => word.replace('\n', '⟨U+000A⟩')));
    assert.match(lines[0], /ls$/);
    const isWhole = await page.evaluate(() => [...document.querySelectorAll('dialog.approval dd')].every((each) => each.scrollHeight === each.clientHeight));
    assert.ok(isWhole, 'where it runs needs no scrolling');
    await page.press('n');
    await page.until('idle', () => document.querySelector('.composer .stop').hidden);
  });

  step('history, usage and one call of them', async () => {
    await visit(page, 'history');
    await page.until('rows', () => document.querySelectorAll('.history-row:not(.head)').length === 9);
    await themes('history', async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    await matchTree(page, 'history', { role: 'main', name: '' });
    await visit(page, 'history?status=denied');
    await page.until('rows', () => document.querySelectorAll('.history-row:not(.head)').length === 3);
    await page.evaluate(() => document.querySelector('.history-row:not(.head)').focus());
    await page.press('Enter');
    await page.until('its card', () => document.querySelector('dialog haft-call .tabs') !== null);
    await themes('call', async (what) => assert.deepEqual(await page.evaluate(weakContrasts), [], what));
    await page.press('Escape');
  });

  step('on a phone nothing of it is wider than the screen, and all of it can be hit', async () => {
    const phone = await world.browser.page({ width: 360, height: 740, context: page.context });
    for (const place of [chat, 'history', 'usage', 'policy']) {
      await phone.goto(`${world.server.url}/#/${place}`);
      await phone.until('content', () => document.querySelector('main .place-head') && !document.querySelector('main').textContent.includes('Loading…'));
      await phone.until('its rows', () => document.querySelector('haft-call, .history-row, table') !== null);
      assert.ok((await phone.evaluate(() => document.documentElement.scrollWidth)) <= 360, place);
      assert.deepEqual(await phone.evaluate(smallTargets), [], place);
    }
    assert.deepEqual([page.errors, phone.errors], [[], []]);
  });
});

/** Whether these cards, and no others, have no gap to the one above. Runs in the page. */
function areJoined(wanted) {
  const boxes = [...document.querySelectorAll('haft-call .call')].map((each) => each.getBoundingClientRect());
  return boxes.length === wanted.length && boxes.every(({ top }, at) => wanted[at] === (at > 0 && top <= boxes[at - 1].bottom));
}
