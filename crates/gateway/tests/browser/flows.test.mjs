// The five flows of a user who talks to the demo model and watches its calls.

import assert from 'node:assert/strict';
import { before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { openWorld, send, turnEnd, visit } from './open.mjs';
import { otherSite } from './server.mjs';
import { step } from './steps.mjs';

const CONVERSATION = { role: 'list', name: 'Conversation' };
let page;
let site;

/** Sends a message in a new session, and waits for the end of the turn. */
async function ask(text) {
  await visit(page, 'chat');
  await page.find('heading', 'What should the agent do?');
  await send(page, text);
  await page.until(
    'user message',
    (wanted) => [...document.querySelectorAll('.message.user .bubble')].some((each) => each.textContent === wanted),
    text,
  );
}

const card = (tool) =>
  page.until(`card of ${tool}`, (name) => [...document.querySelectorAll('haft-call')].some((each) => each.call.tool === name), tool);
const states = () =>
  page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll('haft-call')].map((each) => [each.call.tool, each.querySelector('.call-line').textContent]),
    ),
  );
const answer = () => page.evaluate(() => [...document.querySelectorAll('.message.assistant')].at(-1).textContent);

describe('flows', { timeout: 600_000 }, () => {
  const world = openWorld({
    first: async (opened) => {
      opened.site = await otherSite(() => ({ type: 'application/json', body: '{"url": "/get", "headers": {"accept": "*/*"}}' }));
      const config = `tools.deny = ["web_fetch"]\n[network]\nallow = ["${new URL(opened.site.url).host}"]\n`;
      return { files: { 'test.txt': 'hello world\n' }, config };
    },
  });
  before(() => {
    ({ page, site } = world);
  });

  step('4-1 a single call: the current time', async () => {
    await ask('What is the current time?');
    await card('get_current_time');
    await turnEnd(page);
    assert.match((await states()).get_current_time, /^✓done/);
    assert.match(await answer(), /\d{4}-\d\d-\d\d/);
    await matchTree(page, 'flow-4-1', CONVERSATION);
  });

  step('4-2 a file is read', async () => {
    await ask('Please read the file at test.txt and tell me what it says.');
    await card('read_file');
    await turnEnd(page);
    assert.match((await states()).read_file, /^✓done/);
    assert.match(await answer(), /hello world/);
    await matchTree(page, 'flow-4-2', CONVERSATION);
  });

  step('4-3 an HTTP request', async () => {
    await ask(`Make an HTTP GET request to ${site.url}/get and show me the response.`);
    await card('http_request');
    await turnEnd(page);
    assert.match((await states()).http_request, /^✓done/);
    assert.match(await answer(), /headers/);
    await matchTree(page, 'flow-4-3', CONVERSATION);
  });

  step('4-4 two calls at once', async () => {
    await ask('Do two things at once: (1) what is the current time, and (2) read test.txt');
    await card('get_current_time');
    await card('read_file');
    await turnEnd(page);
    const shown = await states();
    assert.match(shown.get_current_time, /^✓done/);
    assert.match(shown.read_file, /^✓done/);
    assert.match(await answer(), /hello world/);
    await matchTree(page, 'flow-4-4', CONVERSATION);
  });

  step('4-5 a restricted path is an error with its reason, not a crash', async () => {
    await ask('Please read the file /data/data/com.oneclaw.shadow/databases/oneclaw.db');
    await card('read_file');
    await turnEnd(page);
    assert.match((await states()).read_file, /^(✗ failed|⊘ denied)/);
    await page.until('reason in the card', () => document.querySelector('haft-call .call-error')?.textContent.includes('outside'));
    await page.find('button', 'Why was it denied?');
    await page.until('what to change', () => document.querySelector('haft-call .to-change') !== null);
    await matchTree(page, 'flow-4-5', CONVERSATION);
  });

  step('a card that is drawn again while its advice is on the way shows it all the same', async () => {
    await page.evaluate(() => {
      const card = document.createElement('haft-call');
      card.id = 'redrawn';
      const call = { ...document.querySelector('haft-call').call, id: 'other', help: null };
      document.body.append(card);
      card.call = call;
      card.call = { ...call };
    });
    await page.until('what to change', () => document.querySelector('#redrawn .to-change') !== null);
    await page.evaluate(() => document.querySelector('#redrawn').remove());
  });

  step('nothing in the console of the page is an error', () => assert.deepEqual(page.errors, []));
});
