// A question that is answered for good by a rule that the user writes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe } from 'node:test';
import { openWorld, send } from './open.mjs';
import { step } from './steps.mjs';

describe('rules', { timeout: 600_000 }, () => {
  const world = openWorld({ files: { 'a.txt': 'one\n' }, config: '# mine\nmodel = "demo"\nask = "changes"\n' });
  let server;
  let page;
  before(() => {
    ({ server, page } = world);
  });
  const save = async (rules) => {
    await page.until('question', () => document.querySelector('dialog.approval[open]') !== null);
    await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
    await page.press('a');
    await page.click('radio', 'edit rule…');
    const offered = await page.evaluate((text) => {
      const field = document.querySelector('dialog.approval textarea');
      const before = field.value;
      field.value = text;
      return before;
    }, rules);
    await page.click('button', 'Save this rule and allow');
    return offered;
  };
  const fault = (words) =>
    page.until(words, (wanted) => document.querySelector('dialog.approval .call-error')?.textContent.includes(wanted), words);

  step('a rule that the user writes must cover the call, is saved as it was written, and is not announced', async () => {
    await send(page, 'write "two" to a.txt');
    await save('write_file(/elsewhere/**)');
    await fault('the call would still be asked about');
    assert.equal(await save('exec(bash *)'), 'write_file(/elsewhere/**)', 'nothing that was typed is lost');
    await fault('bash');
    const rule = `write_file(${server.workspace}/*.txt)`;
    await save(`${rule}\n`);
    await page.until('idle', () => document.querySelector('.composer .stop').hidden);
    const config = readFileSync(join(server.root, 'config/haft/config.toml'), 'utf8');
    assert.ok(config.startsWith('# mine\n') && config.includes(`"${rule}"`), config);
    assert.equal(readFileSync(join(server.workspace, 'a.txt'), 'utf8'), 'two\n');
    await send(page, 'write "x" to b.txt');
    await page.until('second call', () => {
      const calls = [...document.querySelectorAll('haft-call')];
      return calls.length === 2 && calls[1].call.state === 'success';
    });
    assert.equal(await page.evaluate(() => document.querySelector('dialog.approval, .toast.fail')), null);
    assert.deepEqual(page.errors, []);
  });
});
