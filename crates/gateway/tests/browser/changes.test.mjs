// Staged changes of a command: the user looks at each path, applies one, and drops the other.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { openWorld, visit } from './open.mjs';
import { step } from './steps.mjs';

const COMMAND = 'echo two >>a.txt; mkdir docs; echo new >docs/new.txt; echo other >docs/other.txt';

describe('changes', () => {
  const world = openWorld({ files: { 'a.txt': 'one\n' } }, ({ server }) => server.haft(['call', 'exec', '--dry-run', '--command', COMMAND]));

  step('the files of the command are a tree, and each has its diff', async () => {
    const { page, server } = world;
    await visit(page, 'changes');
    await page.find('checkbox', 'Apply docs/new.txt');
    await page.click('button', 'a.txt');
    await page.until('diff', () => document.querySelector('.diff')?.textContent.includes('+two'));
    await matchTree(page, 'staged-changes', { role: 'main', name: '' });
    assert.equal(readFileSync(join(server.workspace, 'a.txt'), 'utf8'), 'one\n');
  });

  step('a folder is dropped with its files, and comes back with one of them', async () => {
    const { page } = world;
    await page.click('checkbox', 'Apply docs');
    await page.find('button', 'Apply 1 path, drop 3');
    await page.click('checkbox', 'Apply docs/new.txt');
    await page.find('button', 'Apply 3 paths, drop 1');
  });

  step('what is ticked is applied, the rest is gone', async () => {
    const { page, server } = world;
    await page.click('button', 'Apply 3 paths, drop 1');
    await page.until('word on it', () => [...document.querySelectorAll('.toast')].some((each) => each.textContent.includes('Applied 3 paths')));
    assert.equal(readFileSync(join(server.workspace, 'a.txt'), 'utf8'), 'one\ntwo\n');
    assert.equal(existsSync(join(server.workspace, 'docs/new.txt')), true);
    assert.equal(existsSync(join(server.workspace, 'docs/other.txt')), false);
    await page.until('empty list', () => document.querySelector('main').textContent.includes('No change waits for a review'));
    assert.deepEqual(page.errors, []);
  });
});
