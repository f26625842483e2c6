// What the owner sees and changes: providers and their keys, agents, trust, tools and who has them, the inbox, similar calls.

import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { before, describe } from 'node:test';
import { openWorld, send, visit } from './open.mjs';
import { step } from './steps.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>\u202e';

/** A provider that knows one key, and counts what it was asked. */
async function provider(world) {
  world.asked = 0;
  const server = createServer((request, response) => {
    world.asked += 1;
    response.writeHead(request.headers.authorization === 'Bearer right' ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: [{ id: 'big' }, { id: 'small' }] }));
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  world.site = {
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
  const table = (name, key) =>
    `[providers.${name}]\nprotocol = "openai"\nbase_url = "http://127.0.0.1:${server.address().port}/v1"\n${key}\n`;
  const config = [
    '# mine\nmodel = "demo"\nrules.ask = ["write(**)"]\n',
    '[agents.coder] # the one\nprompt = "Be kind."\n[agents.coder.tools]\ndeny = ["exec"]\n',
    table('good', 'api_key_command = "echo right"'),
    table('bad', 'api_key_command = "echo wrong"'),
    table('unset', 'api_key_env = "NO_SUCH_KEY"'),
  ].join('');
  return { config };
}

describe('owner', { timeout: 600_000 }, () => {
  const world = openWorld({
    files: { 'a.txt': 'one\n', '.haft/config.toml': '[[hooks]]\nevent = "before_tool_call"\ncommand = "true"\n' },
    first: provider,
  });
  let browser;
  let server;
  let page;
  before(() => {
    ({ browser, server, page } = world);
  });
  const config = () => readFileSync(join(server.root, 'config/haft/config.toml'), 'utf8');
  const text = (selector, on = page) => on.evaluate((wanted) => document.querySelector(wanted)?.textContent ?? '', selector);
  const hasText = (selector, wanted, on = page) =>
    on.until(`“${wanted}” in ${selector}`, (where, what) => document.querySelector(where)?.textContent.includes(what), selector, wanted);
  const row = (table, name) => `[aria-label="${table}"] tbody tr:nth-child(${name})`;

  step('each provider says where its key comes from, and a test says how it answers, in words', async () => {
    await visit(page, 'connections');
    await hasText(row('Providers', 1), 'output of the command echo');
    assert.match(await text(row('Providers', 1)), /config\.toml:\d+/);
    assert.match(await text(row('Providers', 3)), /no key.*variable NO_SUCH_KEY, not set/);
    assert.doesNotMatch(await text('main'), /right|wrong/, 'no value of a key');
    assert.equal(world.asked, 0, 'nothing is asked before the user wants it');
    await page.click('button', 'Test good');
    await hasText(row('Providers', 1), '✓ ok');
    assert.match(await text(row('Providers', 1)), /\d ms · answers and lists 2 models/);
    await page.click('button', 'Test bad');
    await hasText(row('Providers', 2), 'wrong key (401)Make a new key');
    await page.click('button', 'Test unset');
    await hasText(row('Providers', 3), 'no keySet the variable');
    assert.equal(world.asked, 2, 'without a key nothing is asked');
  });

  step('keys of an agent are changed by keyboard, seen as a diff, saved and taken back', async () => {
    await visit(page, 'agents/coder');
    await hasText('.form', 'About 2 tokens');
    await page.type('textbox', 'prompt', `${HOSTILE} `);
    await hasText('.box.stuck', '+agents.coder.prompt =');
    await page.until('longer prompt', () => Number(/About (\d+)/.exec(document.querySelector('.form').textContent)[1]) > 8);
    assert.equal(await page.evaluate(() => document.querySelector('main img')), null, 'text is never markup');
    assert.match(await text('.box.stuck'), /⟨U\+202E⟩|\\u202e|\\u\{202e\}/i, 'hidden characters are shown');
    const before = config();
    await page.evaluate(() => [...document.querySelectorAll('button')].find((each) => each.textContent === 'Save').focus());
    await page.press('Enter');
    await page.find('button', 'Undo');
    assert.match(config(), /# the one/, 'comments stay');
    assert.ok(config().includes('onerror'));
    await page.click('button', 'Undo');
    await hasText('.form', 'About 2 tokens');
    assert.equal(config(), before);
  });

  step('tools are filtered by access, and name the agents that have them or the step that hides them', async () => {
    await visit(page, 'tools/exec?agent=coder');
    await hasText('.detail', '! Not offered to coder: step');
    assert.match(await text('.detail'), /Offered to: main.*step \d+ \(agent\)/s);
    assert.match(await text('.tool-item[aria-current]'), /hidden: step \d+ \(agent\).*main/s);
    const names = () => page.evaluate(() => [...document.querySelectorAll('.tool-item .badge')].map((each) => each.textContent));
    await page.evaluate(() => {
      const filter = document.querySelector('select[aria-label="access"]');
      filter.value = 'read-only';
      filter.dispatchEvent(new Event('change'));
    });
    assert.deepEqual([...new Set(await names())], ['read-only']);
  });

  step('what is trusted is listed, and revoked', async () => {
    await server.haft(['trust']);
    await visit(page, 'settings');
    await hasText('[aria-label="Trusted"] tbody', 'folder');
    assert.match(await text('[aria-label="Trusted"] tbody'), /project's \.haft\/config\.toml.*[0-9a-f]{12}/s);
    // What allows more is announced, above what is clicked here.
    await page.until('announced change', () => document.querySelector('.toast')?.textContent.includes('hooks'));
    await page.evaluate(() => document.querySelectorAll('.toast').forEach((each) => each.remove()));
    await page.click('button', `Revoke ${server.workspace}`);
    await hasText('[aria-label="Trusted"]', 'No folder, plugin or MCP server is trusted');
  });

  step('a question tells its risk and what was decided about similar calls, which the history lists', async () => {
    const asked = () => page.until('question', () => document.querySelector('dialog.approval[open]') !== null);
    const answer = async (key) => {
      await asked();
      await page.until('armed buttons', () => ![...document.querySelectorAll('dialog.approval button')].some((each) => each.disabled));
      await page.press(key);
      await page.until('idle', () => document.querySelector('.composer .stop').hidden);
    };
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await send(page, 'write "two" to a.txt');
    await asked();
    assert.match(await text('dialog.approval'), /No similar call in 30 days/);
    await answer('y');
    await send(page, 'write "three" to a.txt');
    await answer('n');
    await send(page, 'write "four" to a.txt');
    await asked();
    await page.click('button', 'Similar: allowed 1 ×, denied 1 × in 30 days');
    await page.find('heading', 'History');
    await page.until('two rows', () => document.querySelectorAll('.history-row[tabindex]').length === 2);
    assert.match(await text('.filters:last-of-type'), /covered by write_file\(/);
    assert.equal(await page.evaluate(() => document.querySelector('dialog.approval')), null, 'the question waits in the inbox');
  });

  step('the inbox shows risk and age, and answers identical questions together, and no others', async () => {
    const ask = (message) =>
      page.evaluate(async (words) => {
        const headers = { 'content-type': 'application/json' };
        const post = (path, body) =>
          fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }).then((answer) => answer.json());
        const { id } = await post('/api/sessions', {});
        await post(`/api/sessions/${id}/messages`, { text: words });
      }, message);
    await visit(page, 'inbox');
    for (const message of ['write "x" to c.txt', 'write "x" to c.txt', 'write "y" to d.txt']) await ask(message);
    await page.until('four questions', () => document.querySelectorAll('.cards tbody tr').length === 4);
    assert.match(await text('.cards tbody'), /low: writes/);
    const boxes = () => page.evaluate(() => [...document.querySelectorAll('.cards [type=checkbox]')].map((box) => box.disabled));
    await page.evaluate(() => document.querySelectorAll('.cards [type=checkbox]')[1].focus());
    await page.press(' ');
    assert.deepEqual(await boxes(), [true, false, false, true], 'only what is identical');
    await page.evaluate(() => document.querySelectorAll('.cards [type=checkbox]')[2].click());
    await page.click('button', 'Deny all 2');
    await page.until('the others', () => document.querySelectorAll('.cards tbody tr').length === 2);
    assert.deepEqual(await boxes(), [false, false]);
    const phone = await browser.page({ width: 360, height: 740, context: page.context });
    await phone.goto(`${server.url}/#/inbox`);
    await phone.until('questions', () => document.querySelectorAll('.cards tbody tr').length === 2);
    const named = (table) =>
      phone.evaluate(
        (label) => [...document.querySelectorAll(`[aria-label="${label}"] tbody tr:first-child td`)].map((cell) => getComputedStyle(cell, '::before').content),
        table,
      );
    assert.deepEqual(await named('Open approvals'), ['', 'Agent', 'Wants', 'Risk', 'Undo', 'Age', ''].map((name) => `"${name}"`));
    for (const place of ['inbox', 'settings', 'connections', 'agents/coder', 'tools/exec']) {
      await visit(phone, place);
      await phone.until('content', () => !document.querySelector('main').textContent.includes('Loading…'));
      assert.ok((await phone.evaluate(() => document.documentElement.scrollWidth)) <= 360, place);
    }
    assert.deepEqual(phone.errors, []);
    assert.deepEqual(page.errors, []);
  });

  step('a new session has the agent that the user chooses for it', async () => {
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await page.evaluate(() => {
      const agent = document.querySelector('.place-head select[aria-label="Agent"]');
      agent.value = 'coder';
      agent.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await send(page, 'what time is it?');
    await page.find('link', 'agent: coder');
    await page.until('its call', () => document.querySelector('haft-call')?.call.agent === 'coder');
    await page.until('idle', () => document.querySelector('.composer .stop').hidden);
  });

  step('a save is announced to other pages alone, and what is announced covers nothing', async () => {
    const others = [];
    for (const size of [{}, { width: 360, height: 640, dark: true }]) {
      const other = await browser.page({ context: page.context, ...size });
      others.push(other);
      await other.goto(`${server.url}/#/settings`);
      await other.find('heading', 'Settings');
    }
    await visit(page, 'agents/coder');
    await hasText('.form', 'About 2 tokens');
    await page.evaluate(() => {
      const access = [...document.querySelectorAll('.form select')].find((each) => [...each.options].some(({ value }) => value === 'full-access'));
      access.value = 'full-access';
      access.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await hasText('.box.stuck', '+agents.coder.access =');
    await page.click('button', 'Save');
    await page.find('button', 'Undo');
    for (const other of others) await hasText('.toast', 'agents.coder.access', other);
    // What another program changes is announced to every page, also to this one.
    const file = join(server.root, 'config/haft/config.toml');
    // At once: of half a file every setting would have changed.
    writeFileSync(`${file}.new`, `${config()}[gateway]\ninvoke_allow = ["exec"]\n`);
    renameSync(`${file}.new`, file);
    await page.evaluate(() => fetch('/api/settings'));
    await page.until('word on the change', () => document.querySelector('.toasts').textContent.includes('gateway.invoke_allow'));
    assert.doesNotMatch(await text('.toasts'), /agents\.coder\.access/, 'its user knows');
    for (const other of others) {
      const [shell, messages, height] = await other.evaluate(() => [
        document.querySelector('haft-shell').getBoundingClientRect().bottom,
        document.querySelector('.toasts').getBoundingClientRect().top,
        innerHeight - document.querySelector('.toasts').getBoundingClientRect().bottom,
      ]);
      assert.ok(shell > 300 && shell <= messages && height >= 0, `${shell} ${messages} ${height}`);
      await other.evaluate(() => document.querySelectorAll('.toast').forEach((each) => each.remove()));
      await other.until('whole place', () => document.querySelector('haft-shell').getBoundingClientRect().bottom === innerHeight);
    }
  });
});
