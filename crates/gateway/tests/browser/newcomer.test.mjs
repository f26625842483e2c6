// Somebody new starts, denies a write, finds out why, changes it, and sees the history: with the keyboard alone.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Browser } from './chromium.mjs';
import { matchTree } from './golden.mjs';
import { HaftServer } from './server.mjs';

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
const send = async (text) => {
  await page.type('combobox', 'Message', text);
  await page.press('Enter');
};

describe('newcomer', { timeout: 600_000 }, () => {
  before(async () => {
    server = await HaftServer.start({
      files: { 'README.md': '# Hello\n' },
      config: 'ask = "changes"\n',
      flags: ['--listen', '127.0.0.1:0'],
    });
    browser = await Browser.launch();
    page = await browser.page();
    await page.goto(server.link);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('the link signs in once and leaves the address', async () => {
    await page.find('heading', 'What should the agent do?');
    assert.equal(await page.evaluate(() => location.href.includes('token')), false);
    assert.equal(await page.evaluate(() => document.cookie), '');
    const other = await browser.page();
    await other.goto(server.link);
    await other.find('textbox', 'Token');
    assert.match(await other.tree(), /used up/);
  });

  test('a suggestion of the first screen reads a file', async () => {
    await page.click('button', /^Read a file/);
    await page.until('answer', () => document.querySelector('.tools-line') !== null);
    assert.match(await page.tree(), /read_file/);
  });

  test('a write is asked about, an early key answers nothing, N denies', async () => {
    await send('write "hello" to hello.txt');
    await page.find('dialog', /wants to use write_file/);
    await page.press('y');
    await dialogFocus();
    await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
    await matchTree(page, 'approval', { role: 'dialog', name: 'main wants to use write_file' });
    await page.press('n');
    await page.until('denied card', () => document.querySelector('haft-call .state.fail')?.textContent.includes('denied'));
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), false);
  });

  test('the card says why', async () => {
    await page.click('button', 'Why was it denied?');
    await page.find('tab', 'Decision');
    await page.until('trace', () => document.querySelector('haft-call .trace')?.textContent.includes('ask'));
  });

  test('asked again it is allowed for the session, and the next one is not asked', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await send('write "hello" to hello.txt');
    await dialogFocus();
    await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
    await page.press('y');
    await page.until('written file', () =>
      [...document.querySelectorAll('haft-call')].some((each) => each.call.tool === 'write_file' && each.call.state === 'success'),
    );
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), true);
  });

  test('the history has all of it, and an undo puts the file back', async () => {
    await page.until('idle session', () => !document.querySelector('.place-head [role=status]'));
    await page.evaluate(() => {
      location.hash = '#/history?tool=write_file';
    });
    await page.until('two rows', () => document.querySelectorAll('.history-row:not(.head)').length === 2);
    await page.evaluate(() => document.querySelector('.history-row .state.ok').closest('.history-row').focus());
    await page.press('Enter');
    await page.click('button', 'Undo…');
    await page.click('button', 'Undo');
    await page.until('word on the undo', () => document.querySelector('.toast')?.textContent.includes('Undone'));
    assert.equal(existsSync(join(server.workspace, 'hello.txt')), false);
  });

  test('an approval shows characters that hide or reorder text', async () => {
    await page.press('Escape');
    await page.evaluate(() => {
      location.hash = '#/chat';
    });
    await page.find('heading', 'What should the agent do?');
    await send('write "x" to a\u202Egnp.txt');
    await page.until('dialog', () => document.querySelector('dialog.approval[open] .effects')?.textContent.includes('⟨U+202E⟩'));
    assert.equal(await page.evaluate(() => document.querySelector('dialog.approval').textContent.includes('\u202E')), false);
    await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
    await page.press('n');
    await page.until('closed dialog', () => document.querySelector('dialog.approval') === null);
  });

  test('nothing in the console of the page is an error', () => assert.deepEqual(page.errors, []));
});
