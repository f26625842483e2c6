// The places with something in them, as a screen reader gets them.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { scriptedModel } from './model.mjs';
import { openWorld, send, turnEnd, visit } from './open.mjs';
import { step } from './steps.mjs';

const USAGE = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };
/** What a machine has is not what another has: the page gets these checks instead. */
const CHECKS = [
  { check: 'model', status: 'ok', message: 'work/m answers.', fix: null },
  {
    check: 'sandbox',
    status: 'error',
    message: '1 of 2 escape attempts blocked',
    fix: 'sudo apt-get install bubblewrap',
    details: { probes: [{ probe: 'write_outside', outcome: 'blocked', evidence: 'Read-only file system' }, { probe: 'see_processes', outcome: 'open', evidence: 'process 1 is visible' }] },
  },
  { check: 'git', status: 'warning', message: 'Git is old.', fix: 'Install Git 2.40 or newer.' },
];
/** Its next run is near, whatever the day is. */
const JOB = { name: 'Backups', every: '6h', message: 'Check the backups' };
const CONFIG = `model = "work/m"
[providers.work]
protocol = "openai"
base_url = "URL"
api_key_command = "echo key"
[prices."work/m"]
input = 3
output = 15
[providers.unset]
protocol = "openai"
base_url = "URL"
api_key_env = "NO_SUCH_KEY"
[agents.coder]
prompt = "Be kind."
access = "read-only"
tools.allow = ["read_file", "write_file"]
[mcp.servers.files]
command = "no-such-program"
[channels.page]
kind = "chat"
to = "Notices"
[tools]
deny = ["apply_patch"]
[rules]
ask = ["write(docs/**)"]
deny = ["write(secret.txt)"]
`;

describe('filled places', { timeout: 300_000 }, () => {
  let model;
  const world = openWorld({
    first: async () => {
      model = await scriptedModel('exec', USAGE);
      return { config: CONFIG.replaceAll('URL', model.url), files: { 'README.md': '# Hello\n' } };
    },
  });
  after(() => model?.close());
  let page;
  before(() => {
    ({ page } = world);
  });
  const match = (name, part = { role: 'main', name: '' }) => matchTree(page, name, part);
  /** Goes to a place, and waits for what it loads last. */
  const open = async (place, selector) => {
    await visit(page, place);
    await page.until(`${selector} of ${place}`, (wanted) => !document.querySelector('main').textContent.includes('Loading…') && document.querySelector(wanted) !== null, selector);
  };

  step('an agent: its keys, its tools, and what comes of them', async () => {
    await open('agents/coder', '.pick');
    await page.type('searchbox', 'Search tools', 'write_file');
    await match('agent', { role: 'region', name: 'Agent' });
  });

  step('the policy as a picture', async () => {
    await open('policy', 'table.matrix');
    // Which tools there are depends on the machine: some of them are enough.
    await page.evaluate(() => document.querySelectorAll('.matrix tbody tr').forEach((row) => /^(read_file|write_file|apply_patch)$/.test(row.firstChild.textContent) || row.remove()));
    await match('policy');
  });

  step('settings, of which what is set is shown', async () => {
    await open('settings', 'table');
    await page.click('checkbox', 'only what is set');
    await match('settings');
  });

  step('the doctor, with what is wrong first', async () => {
    await page.evaluate(answerInstead, '/api/doctor', { checks: CHECKS, report: 'a report' });
    await open('doctor', '.check-line');
    await page.evaluate(() => document.querySelector('main summary').click());
    await match('doctor');
  });

  step('connections: a server, providers, channels, and who is signed in', async () => {
    await open('connections', '[aria-label="Providers"]');
    await match('connections');
  });

  step('usage, as a plot and as tables', async () => {
    model.steps.push([['read_file', { path: 'README.md' }]], 'Done.');
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await send(page, 'read it');
    await turnEnd(page);
    await open('usage', '.plot svg');
    await match('usage');
  });

  step('a call that is stored has its diff, and an answer its tokens and its cost', async () => {
    model.steps.push([['edit_file', { path: 'README.md', old_string: 'Hello', new_string: 'Bye' }], ['write_file', { path: 'new.txt', content: 'a\nb\n' }]], 'Changed.');
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await send(page, 'change it');
    await turnEnd(page);
    const session = await page.evaluate(() => location.href);
    await page.goto('about:blank');
    await page.goto(session);
    await page.until('counts', () => ['+1 −1', '+2 −0'].every((counts, at) => document.querySelectorAll('.summary')[at]?.textContent.includes(counts)));
    await page.evaluate(() => document.querySelector('haft-call').toggle(true));
    await page.find('tab', 'Diff');
    assert.match(await page.evaluate(() => document.querySelector('haft-call .diff').textContent), /-# Hello\n\+# Bye/);
    await page.click('button', 'Menu of this answer');
    await page.find('menuitem', '↑ 1.0k ↓ 500 tokens · $0.01');
    await page.press('Escape');
  });

  step('automation: a job, and a command in the background', async () => {
    await page.evaluate(async (job) => {
      await fetch('/api/automation', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(job) });
    }, JOB);
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    model.steps.push([['exec', { command: 'echo begun; sleep 300', background: true }]], 'It runs.');
    await send(page, 'start it');
    await turnEnd(page);
    await open('automation', '.box code');
    await page.until('its output', () => document.querySelector('.box .output')?.textContent.includes('begun'));
    await match('automation');
    await page.click('button', 'Kill with all descendants');
    await page.until('its end', () => document.querySelector('.box [data-started]') === null);
    assert.deepEqual(page.errors, []);
  });
});

/** Requests of this path get this answer. Runs in the page. */
function answerInstead(path, answer) {
  const real = window.fetch;
  window.fetch = (url, ...rest) => (url === path ? Promise.resolve(new Response(JSON.stringify(answer))) : real(url, ...rest));
}
