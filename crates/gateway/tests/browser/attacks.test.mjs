// A browser as the attacker: other sites, and hostile content in what tools return.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { Client } from './client.mjs';
import { scriptedModel } from './model.mjs';
import { openWorld, send, turnEnd, visit } from './open.mjs';
import { otherSite } from './server.mjs';
import { step } from './steps.mjs';

const HOSTILE = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '[a](javascript:window.hacked=1)',
  '[b](data:text/html,<script>window.hacked=1</script>)',
  '![remote](http://REMOTE/pixel.png)',
  '<svg onload="window.hacked=1"><use href="x"/></svg>',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  '<a href="java&#10;script:window.hacked=1">c</a>',
  '<form action="http://REMOTE/"><button>d</button></form>',
  '<style>body{display:none}</style>',
  '\u001b[31mred\u001b[0m \u001b]8;;javascript:window.hacked=1\u0007link\u001b]8;;\u0007',
  'a\u202Egnp.exe',
].join('\n\n');
/** Names of files that would be markup, or read in another order. */
const HOSTILE_NAMES = {
  'a\u202Egnp.exe': 'x',
  '<img src=x onerror=window.hacked=1>.txt': 'x',
  'z\u200Bero\u2066.md': 'x',
};
/** The name with its hidden character, in one of the two forms in which that is shown. */
const SHOWN_NAME = /a(⟨U\+202E⟩|\\u\{202e\})gnp\.exe/;
let browser;
let server;
let site;
let page;
const seen = [];
const sessionCount = () => page.evaluate(async () => (await (await fetch('/api/sessions?workspace=all')).json()).sessions.length);

describe('attacks', { timeout: 600_000 }, () => {
  const world = openWorld({
    first: async (opened) => {
      opened.site = await otherSite((request) => {
        seen.push(request.url);
        return { body: '<!DOCTYPE html><title>other</title>' };
      });
      return { files: { 'hostile.md': HOSTILE.replaceAll('REMOTE', new URL(opened.site.url).host), ...HOSTILE_NAMES } };
    },
  });
  before(() => {
    ({ browser, server, site, page } = world);
  });

  step('a page of another site can read and change nothing, though the user is signed in', async () => {
    const evil = await browser.page({ context: page.context });
    await evil.goto(`${site.url}/`);
    await evil.until('other site', () => document.title === 'other');
    const results = await evil.evaluate(async (url) => {
      const attempt = async (run) => {
        try {
          const answer = await run();
          return `${answer.type} ${answer.status}`;
        } catch {
          return 'refused';
        }
      };
      const post = (options) => fetch(`${url}/api/sessions`, { method: 'POST', credentials: 'include', body: '{}', ...options });
      return {
        read: await attempt(() => fetch(`${url}/api/sessions`, { credentials: 'include' })),
        simple: await attempt(() => post({ mode: 'no-cors', headers: { 'content-type': 'text/plain' } })),
        json: await attempt(() => post({ headers: { 'content-type': 'application/json' } })),
        script: await new Promise((done) => {
          const tag = document.createElement('script');
          tag.src = `${url}/api/sessions`;
          tag.onload = () => done('loaded');
          tag.onerror = () => done('refused');
          document.head.append(tag);
        }),
        stream: await new Promise((done) => {
          const events = new EventSource(`${url}/api/events`, { withCredentials: true });
          events.onopen = () => done('open');
          events.onerror = () => {
            events.close();
            done('refused');
          };
        }),
      };
    }, server.url);
    assert.deepEqual(results, { read: 'refused', simple: 'refused', json: 'refused', script: 'refused', stream: 'refused' });
    assert.equal(await sessionCount(), 0);
  });

  step('the page cannot be framed, and a sandboxed frame has no rights', async () => {
    const evil = await browser.page({ context: page.context });
    await evil.goto(`${site.url}/frame`);
    await evil.until('other site', () => document.title === 'other');
    const framed = await evil.evaluate(async (url) => {
      const frame = document.createElement('iframe');
      frame.src = url;
      document.body.append(frame);
      await new Promise((done) => {
        frame.onload = done;
      });
      try {
        return frame.contentDocument === null ? 'blocked' : frame.contentDocument.body.textContent;
      } catch {
        return 'blocked';
      }
    }, server.url);
    assert.equal(framed, 'blocked');
    const answer = await evil.evaluate(
      (url) =>
        new Promise((done) => {
          const frame = document.createElement('iframe');
          frame.sandbox = 'allow-scripts';
          addEventListener('message', (event) => done(event.data), { once: true });
          const attempt = `fetch("${url}/api/sessions", { method: "POST", mode: "no-cors", credentials: "include", body: "{}" })`;
          frame.srcdoc = `<script>${attempt}.then(() => parent.postMessage("answered", "*"), () => parent.postMessage("refused", "*"))</script>`;
          document.body.append(frame);
        }),
      server.url,
    );
    assert.equal(answer, 'refused');
    assert.equal(await sessionCount(), 0);
  });

  step('hostile content of a file is shown as text: no script, no remote picture, no dangerous link', async () => {
    await send(page, 'read hostile.md');
    await turnEnd(page);
    await page.evaluate(() => document.querySelector('haft-call').toggle(true));
    await page.until('shown result', () => document.querySelector('haft-call .output')?.textContent.includes('onerror'));
    for (const tab of ['Input', 'Effects', 'Decision']) await page.click('tab', tab);
    const found = await page.evaluate(() => ({
      hacked: window.hacked ?? null,
      elements: document.querySelectorAll('.transcript :is(script, iframe, form, object, embed, style, svg, use)').length,
      handlers: [...document.querySelectorAll('.transcript *')].filter((each) =>
        [...each.attributes].some(({ name }) => name.startsWith('on')),
      ).length,
      links: [...document.querySelectorAll('.transcript a[href]')]
        .map((each) => each.protocol)
        .filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
      remote: [...document.querySelectorAll('.transcript img')]
        .map((each) => each.src)
        .filter((source) => source && !source.startsWith('data:')),
    }));
    assert.deepEqual(found, { hacked: null, elements: 0, handlers: 0, links: [], remote: [] });
    assert.deepEqual(
      seen.filter((url) => url.includes('pixel')),
      [],
    );
    assert.deepEqual(
      page.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:') && url !== 'about:blank'),
      [],
    );
  });

  step('hostile names of files are text in completions, cards and the history', async () => {
    await page.type('combobox', 'Message', '@');
    await page.until('completions', () => document.querySelectorAll('.suggest li').length >= 4);
    const offered = await page.evaluate(() => ({
      text: document.querySelector('.suggest').textContent,
      elements: document.querySelectorAll('.suggest img').length,
    }));
    assert.match(offered.text, /a⟨U\+202E⟩gnp\.exe/);
    assert.match(offered.text, /z⟨U\+200B⟩ero⟨U\+2066⟩\.md/);
    assert.deepEqual([offered.elements, /[\u202E\u2066\u200B]/.test(offered.text)], [0, false]);
    await page.press('Escape');
    await page.evaluate(() => {
      document.querySelector('textarea').value = '';
    });
    await visit(page, 'chat');
    await page.find('heading', 'What should the agent do?');
    await send(page, 'read a\u202Egnp.exe');
    await turnEnd(page);
    const line = await page.evaluate(() => document.querySelector('.call-line').textContent);
    assert.match(line, SHOWN_NAME);
    await visit(page, 'history?tool=read_file');
    await page.until('rows', () => document.querySelectorAll('.history-row:not(.head)').length >= 2);
    const shown = await page.evaluate(() => document.querySelector('haft-list').textContent);
    assert.deepEqual([SHOWN_NAME.test(shown), /\u202E/.test(shown)], [true, false]);
    assert.equal(await page.evaluate(() => window.hacked ?? null), null);
  });

  step('inline script does not run, whatever inserts it', async () => {
    const ran = await page.evaluate(() => {
      const box = document.createElement('div');
      box.innerHTML = '<img src="data:," onerror="window.inline=1"><a href="javascript:window.inline=1">x</a>';
      document.body.append(box);
      box.querySelector('a').click();
      const tag = document.createElement('script');
      tag.textContent = 'window.inline=1';
      document.body.append(tag);
      return new Promise((done) => {
        setTimeout(() => {
          box.remove();
          done(window.inline ?? null);
        }, 300);
      });
    });
    assert.equal(ran, null);
  });

  step('a revoked page loses its stream and its rights at once', async () => {
    const link = await page.evaluate(
      async () =>
        await (
          await fetch('/api/tokens', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"name":"phone","scopes":["view"]}',
          })
        ).json(),
    );
    const phone = await browser.page({ width: 390, height: 844 });
    await phone.goto(link.link);
    await phone.until('sessions of the phone', () => document.querySelector('.live')?.textContent.includes('live'));
    const refused = await phone.evaluate(
      async () => (await fetch('/api/sessions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status,
    );
    assert.equal(refused, 403);
    await page.evaluate((id) => fetch(`/api/tokens/${id}`, { method: 'DELETE' }), link.id);
    await phone.find('textbox', 'Token');
    assert.equal(await phone.evaluate(async () => (await fetch('/api/me')).status), 401);
  });
});

/** Pieces of Markdown and HTML that begin or end something, in any order. */
const PIECES = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '<svg><script>window.hacked=1</script></svg>',
  '<math><mtext><img src=x onerror=window.hacked=1></mtext></math>',
  '<a href="javascript:window.hacked=1">',
  '[x](javascript:window.hacked=1)',
  '[x](data:text/html,<script>window.hacked=1</script>)',
  '![x](http://REMOTE/pixel.png)',
  '<http://REMOTE/pixel.png>',
  '<iframe srcdoc="<script>parent.hacked=1</script>">',
  '<noscript><p title="</noscript><img src=x onerror=window.hacked=1>">',
  '<style>@import "http://REMOTE/pixel.css";</style>',
  '<template><script>window.hacked=1</script></template>',
  '<b id="place" name="body" style="background:url(http://REMOTE/pixel.png)" onclick="window.hacked=1">',
  '<!--', '-->', '<![CDATA[', ']]>', '```html\n', '\n```\n', '`', '**', '| a | b |\n|---|---|\n', '> ', '\n\n', '</div></p>', '&lt;', '&#x3c;script>',
  '\u202e', '\u2066', '\u200b',
];

describe('hostile model', { timeout: 300_000 }, () => {
  let model;
  const world = openWorld({
    first: async (opened) => {
      opened.seen = [];
      opened.site = await otherSite((request) => {
        opened.seen.push(request.url);
        return {};
      });
      model = await scriptedModel('read_file');
      return { config: `model = "work/m"\n[providers.work]\nprotocol = "openai"\nbase_url = "${model.url}"\n` };
    },
  });
  after(() => model?.close());

  step('no text of a model becomes a script, a handler, a frame, a style or a remote request', async () => {
    const { page, server, site } = world;
    const host = new URL(site.url).host;
    let state = 20_261_119;
    const random = (below) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    for (let round = 0; round < 40; round += 1) {
      const pieces = Array.from({ length: 25 }, () => PIECES[random(PIECES.length)]);
      model.steps.push(pieces.join(random(2) ? '' : ' ').replaceAll('REMOTE', host));
      await send(page, `go ${round}`);
      await page.until(`answer ${round}`, answered, round);
      const found = await page.evaluate(() => ({
        hacked: window.hacked ?? null,
        elements: document.querySelectorAll('.rendered :is(script, iframe, form, object, embed, style, svg, math, template, noscript, link, base, meta)').length,
        attributes: [...document.querySelectorAll('.rendered *')].flatMap((each) => [...each.attributes].map(({ name }) => name).filter((name) => /^on|^(style|id|name|srcdoc)$/.test(name))),
        links: [...document.querySelectorAll('.rendered a[href]')].map((each) => each.protocol).filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
        remote: [...document.querySelectorAll('.rendered img')].map((each) => each.src).filter((source) => source && !source.startsWith('data:')),
      }));
      assert.deepEqual(found, { hacked: null, elements: 0, attributes: [], links: [], remote: [] }, pieces.join('|'));
    }
    assert.deepEqual(world.seen, []);
    assert.deepEqual(page.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:') && url !== 'about:blank'), []);
    assert.deepEqual(page.errors, []);
  });

  step('no name, title, tooltip or message of anyone hides or reorders its surroundings, in any place', async () => {
    const { page } = world;
    const client = await Client.signIn({ url: world.server.url, link: await page.evaluate(newLink) });
    const { id } = await client.change('POST', '/api/sessions', { title: REORDERED });
    await client.change('POST', '/api/automation', { name: REORDERED, every: '6h', message: REORDERED });
    await client.change('POST', '/api/memory', { text: REORDERED });
    const todo = { content: REORDERED, active_form: REORDERED, status: 'in_progress' };
    model.steps.push([['todo_write', { todos: [todo] }], ['write_file', { path: `${REORDERED}.md`, content: REORDERED }]], REORDERED);
    await client.turn(id, REORDERED);
    await visit(page, `chat/${id}`);
    await page.until('answer', () => document.querySelector('.message.assistant') !== null);
    await page.click('button', 'Panel');
    await page.find('button', 'Undo all of this session…');
    // An emoji is joined and coloured by characters of this kind, and stays one.
    assert.deepEqual(await page.evaluate(() => [document.title, document.querySelector('.bubble').textContent]), [`${SHOWN} – Haft`, SHOWN]);
    assert.deepEqual(await page.evaluate(hiddenTexts), []);
    await page.press('k', 2);
    await page.find('option', /a ⟨U\+202E⟩ gnp\.exe ⟨U\+200B⟩/);
    assert.deepEqual(await page.evaluate(hiddenTexts), [], 'the palette');
    await page.press('Escape');
    for (const place of ['history', 'usage', 'automation', 'memory?file=MEMORY.md', 'agents', 'tools']) {
      await visit(page, place);
      await page.until(`loaded ${place}`, (name) => document.querySelector('main h1')?.textContent.toLowerCase().startsWith(name) && !document.querySelector('main').textContent.includes('Loading…'), place.split('?')[0]);
      assert.deepEqual(await page.evaluate(hiddenTexts), [], place);
    }
  });
});

const REORDERED = 'a\u202egnp.exe\u200b ❤\ufe0f';
const SHOWN = 'a⟨U+202E⟩gnp.exe⟨U+200B⟩ ❤\ufe0f';

/** A link for a program. Runs in the page. */
async function newLink() {
  const body = '{"name":"program","scopes":["view","chat","approve","admin"]}';
  return (await (await fetch('/api/tokens', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()).link;
}

/** Texts, tooltips and names of the page that have a character which hides or reorders. Runs in the page. */
function hiddenTexts() {
  const isHidden = (text) => /[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text);
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const texts = node.nodeType === Node.TEXT_NODE ? [node.data] : [...node.attributes].map(({ name, value }) => `${name}=${value}`);
    found.push(...texts.filter(isHidden).map((text) => `${(node.parentElement ?? node).tagName}: ${text}`));
  }
  return found;
}

/** Whether so many turns are over and shown. Runs in the page. */
async function answered(before) {
  const [store] = Object.values(await import('/store.js'));
  const ends = store.transcripts.get(location.hash.split('/').at(-1))?.items.filter(({ type }) => type === 'turn_end').length;
  return ends > before && document.querySelector('.composer .stop').hidden && new Promise((done) => requestAnimationFrame(() => done(true)));
}
