// Somebody new starts, denies a write, finds out why, changes it, and sees the history: with the keyboard alone.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { openWorld, send as sendOn, turnEnd, visit } from './open.mjs';
import { step } from './steps.mjs';

let browser;
let server;
let page;

const dialogFocus = () =>
  page.until(
    'focus on Deny',
    () =>
      document.querySelector('dialog.approval[open]')?.contains(document.activeElement) &&
      document.activeElement.textContent.startsWith('Deny'),
  );
const armed = () =>
  page.until('armed buttons', () => {
    const buttons = [...document.querySelectorAll('dialog.approval button')];
    return buttons.length > 0 && !buttons.some((each) => each.disabled);
  });
const written = (name) =>
  page.until(
    `written ${name}`,
    (wanted) =>
      [...document.querySelectorAll('haft-call')].some(
        ({ call }) => call.tool === 'write_file' && call.state === 'success' && call.arguments.path === wanted,
      ),
    name,
  );
/** Looks at the change that the dialog shows, and saves it. */
const save = async (text, after = () => page.evaluate(() => document.querySelectorAll('.toast').forEach((each) => each.remove()))) => {
  await page.until(
    `change of ${text}`,
    (wanted) => document.querySelector('dialog[open] .diff')?.textContent.includes(wanted) && !document.querySelector('dialog .primary').disabled,
    text,
  );
  await page.click('button', 'Save');
  await page.until('word on it', () => [...document.querySelectorAll('.toast')].some((each) => each.textContent.includes('Saved')) && !document.querySelector('dialog[open]'));
  await after();
};
const send = (text) => sendOn(page, text);

describe('newcomer', { timeout: 600_000 }, () => {
  const world = openWorld({ files: { 'README.md': '# Hello\n' } });
  before(() => {
    ({ browser, server, page } = world);
  });

  step('the link signs in once and leaves the address', async () => {
    await page.find('heading', 'What should the agent do?');
    assert.equal(await page.evaluate(() => location.href.includes('token')), false);
    assert.equal(await page.evaluate(() => document.cookie), '');
    const other = await browser.page();
    await other.goto(server.link);
    await other.find('textbox', 'Token');
    assert.match(await other.tree(), /used up/);
  });

  step('a button of the first screen has changes asked about', async () => {
    await page.click('button', 'Ask me first…');
    await save('ask = "changes"');
    assert.match(readFileSync(join(server.root, 'config/haft/config.toml'), 'utf8'), /^ask = "changes"$/m);
  });

  step('a suggestion of the first screen reads a file', async () => {
    await page.click('button', /^Read a file/);
    await turnEnd(page);
    assert.match(await page.tree(), /read_file/);
  });

  step('a write is asked about, an early key answers nothing, N denies', async () => {
    await page.evaluate(pressWhenAsked, 'y');
    await send('write "hello" to hello.txt');
    await page.find('dialog', /wants to use write_file/);
    await page.until('early key', () => window.earlyKeys === 1);
    await dialogFocus();
    await armed();
    await matchTree(page, 'approval', { role: 'dialog', name: 'main wants to use write_file' });
    await page.press('n');
    await page.until('denied card', () => document.querySelector('haft-call .state.fail')?.textContent.includes('denied'));
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), false);
  });

  step('the card says why', async () => {
    // The advice moves what is below it.
    await page.until('what to change', () => document.querySelector('haft-call .to-change') !== null);
    await page.click('button', 'Why was it denied?');
    await page.find('tab', 'Decision');
    await page.until('trace', () => document.querySelector('haft-call .trace')?.textContent.includes('ask'));
  });

  step('another one is asked about, and Y allows it', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await send('write "hello" to other.txt');
    await dialogFocus();
    await armed();
    await page.press('y');
    await written('other.txt');
    assert.equal(existsSync(join(server.workspace, 'other.txt')), true);
  });

  step('the card of the denied one changes the rules, and then it is not asked about', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await page.click('button', 'Allow it without a question…');
    await save('hello.txt', () => page.click('button', 'Ask again'));
    await written('hello.txt');
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), true);
  });

  step('the history has all of it, and an undo puts the file back', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await visit(page, 'history?tool=write_file');
    await page.until('three rows', () => document.querySelectorAll('.history-row:not(.head)').length === 3);
    // Slow tools and slow people differ: the time in which a question was open is hatched.
    await page.until('hatched bars', () => document.querySelectorAll('.timeline [fill="url(#hatch)"]').length === 2);
    await page.evaluate(() => document.querySelector('.history-row .state.ok').closest('.history-row').focus());
    await page.press('Enter');
    await page.click('button', 'Undo…');
    await page.click('button', 'Undo');
    await page.until('word on the undo', () => [...document.querySelectorAll('.toast')].some((each) => each.textContent.includes('Undone')));
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), false);
  });

  step('an approval shows characters that hide or reorder text', async () => {
    await page.press('Escape');
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await send('write "x" to a\u202Egnp.txt');
    await page.until('dialog', () => document.querySelector('dialog.approval[open] .effects')?.textContent.includes('⟨U+202E⟩'));
    assert.equal(await page.evaluate(() => document.querySelector('dialog.approval').textContent.includes('\u202E')), false);
    await armed();
    await page.press('n');
    await page.until('closed dialog', () => document.querySelector('dialog.approval') === null);
  });

  step('nothing in the console of the page is an error', () => assert.deepEqual(page.errors, []));
});

/** Presses a key in the moment in which the dialog opens: over the pipe it may come too late on a busy machine. Runs in the page. */
function pressWhenAsked(key) {
  window.earlyKeys = 0;
  new MutationObserver((_, observer) => {
    const dialog = document.querySelector('dialog.approval[open]');
    if (!dialog) return;
    observer.disconnect();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    window.earlyKeys += 1;
  }).observe(document.body, { childList: true, subtree: true, attributes: true });
}
