// Staged changes of a command: the user looks at each path, applies one, and drops the other.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { Browser } from './chromium.mjs';
import { matchTree } from './golden.mjs';
import { HaftServer } from './server.mjs';
import { step } from './steps.mjs';

let browser;
let server;
let page;

describe('changes', () => {
  before(async () => {
    server = await HaftServer.start({ files: { 'a.txt': 'one\n' }, flags: ['--listen', '127.0.0.1:0'] });
    const command = 'echo two >>a.txt; mkdir docs; echo new >docs/new.txt; echo other >docs/other.txt';
    await server.haft(['call', 'exec', '--dry-run', '--command', command]);
    browser = await Browser.launch();
    page = await browser.page();
    await page.goto(server.link);
    await page.find('heading', 'What should the agent do?');
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  step('the files of the command are a tree, and each has its diff', async () => {
    await page.evaluate(() => {
      location.hash = '#/changes';
    });
    await page.find('checkbox', 'Apply docs/new.txt');
    await page.click('button', 'a.txt');
    await page.until('diff', () => document.querySelector('.diff')?.textContent.includes('+two'));
    await matchTree(page, 'staged-changes', { role: 'main', name: '' });
    assert.equal(readFileSync(join(server.workspace, 'a.txt'), 'utf8'), 'one\n');
  });

  step('a folder is dropped with its files, and comes back with one of them', async () => {
    await page.click('checkbox', 'Apply docs');
    await page.find('button', 'Apply 1 path, drop 3');
    await page.click('checkbox', 'Apply docs/new.txt');
    await page.find('button', 'Apply 3 paths, drop 1');
  });

  step('what is ticked is applied, the rest is gone', async () => {
    await page.click('button', 'Apply 3 paths, drop 1');
    await page.until('word on it', () => document.querySelector('.toast')?.textContent.includes('Applied 3 paths'));
    assert.equal(readFileSync(join(server.workspace, 'a.txt'), 'utf8'), 'one\ntwo\n');
    assert.equal(existsSync(join(server.workspace, 'docs/new.txt')), true);
    assert.equal(existsSync(join(server.workspace, 'docs/other.txt')), false);
    await page.until('empty list', () => document.querySelector('main').textContent.includes('No change waits for a review'));
    assert.deepEqual(page.errors, []);
  });
});
