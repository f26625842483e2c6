// The live view: a scripted model drives a browser of its own, and the user watches it on the page, takes it over, and hands it back.

import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import { Client } from './client.mjs';
import { scriptedModel } from './model.mjs';
import { openWorld, send, visit } from './open.mjs';
import { pause } from './owned.mjs';
import { otherSite } from './server.mjs';
import { step } from './steps.mjs';

/** A red button on the left, a field on the right. Both tell the site what they get. */
const SHOP = `<!DOCTYPE html><title>Shop</title><style>
body { margin: 0 } button { position: fixed; left: 0; top: 0; width: 50vw; height: 100vh; background: rgb(255, 0, 0); border: 0 }
input { position: fixed; left: 60vw; top: 10vh; width: 30vw; height: 20vh }</style>
<button onclick="fetch('/clicked'); this.textContent = 'Bought'">Buy</button>
<input aria-label="Word" oninput="fetch('/typed?' + encodeURIComponent(this.value))">`;

describe('live view', { timeout: 240_000 }, () => {
  const seen = [];
  let model;
  let id;
  const world = openWorld({
    first: async (opened) => {
      const answer = (request) => {
        seen.push(request.url);
        return { body: SHOP };
      };
      opened.site = await otherSite(answer, '127.0.0.2');
      model = await scriptedModel('browser');
      const providers = `model = "work/m"\n[providers.work]\nprotocol = "openai"\nbase_url = "${model.url}"\n`;
      const { host } = new URL(opened.site.url);
      const rules = `[network]\nallow = ["127.0.0.2"]\n[rules]\nallow = ["browser(domain:${host})"]\n`;
      return { config: providers + rules };
    },
  });
  after(() => model?.close());

  /** Lets the model do these calls after a message, and returns the results of all of them. */
  async function turn(...calls) {
    const before = model.asked.length;
    model.steps.push(...calls, `Done ${before}.`);
    if (id) await world.page.evaluate(post, `/api/sessions/${id}/messages`, { text: 'go' });
    else await send(world.page, 'go');
    for (let tries = 0; model.asked.length <= before + calls.length; tries += 1) {
      assert.ok(tries < 600, 'the model was not asked again');
      await pause(100);
    }
    const messages = JSON.parse(model.asked.at(-1)).messages.filter((message) => message.role === 'tool');
    return messages.slice(-calls.length).map((message) => message.content);
  }

  /** Sends a change as the page does; returns the status and the answer. */
  const post = async (path, body) => {
    const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };

  /** Clicks at a part of the width and height of the picture. */
  async function clickAt(x, y) {
    const at = await world.page.evaluate(
      (right, down) => {
        const { left, top, width, height } = document.querySelector('.screen img').getBoundingClientRect();
        return { x: left + width * right, y: top + height * down };
      },
      x,
      y,
    );
    await world.page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
    for (const type of ['mousePressed', 'mouseReleased'])
      await world.page.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  }

  async function requested(wanted) {
    for (let tries = 0; !seen.includes(wanted); tries += 1) {
      assert.ok(tries < 300, `${wanted} is not in ${JSON.stringify(seen)}`);
      await pause(50);
    }
  }

  step('the page shows what the browser shows', async () => {
    const { page, site } = world;
    const [opened] = await turn({ action: 'open', target_url: `${site.url}/` });
    assert.match(opened, /Opened in tab t1/);
    id = await page.until('the session', () => /^#\/chat\/([^?]+)/.exec(location.hash)?.[1]);
    await page.click('link', 'Browser');
    const colour = await page.until('a red picture', async () => {
      const image = document.querySelector('.screen img');
      if (!image?.naturalWidth) return null;
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const drawing = canvas.getContext('2d');
      drawing.drawImage(image, 0, 0);
      const [red, green, blue] = drawing.getImageData(image.naturalWidth / 4, image.naturalHeight / 4, 1, 1).data;
      return red > 200 && green < 60 && blue < 60 ? [red, green, blue] : null;
    });
    assert.equal(colour.length, 3);
    await page.until('the state', () => document.body.textContent.includes('The agent has the browser.'));
    await clickAt(0.25, 0.5);
    await pause(300);
    assert.ok(!seen.includes('/clicked'), 'to watch is not to act');
  });

  step('on a phone the address, the state and the picture are in sight', async () => {
    const { browser, page, server } = world;
    const phone = await browser.page({ width: 360, height: 740, context: page.context });
    await phone.goto(`${server.url}/#/browser/${id}`);
    await phone.until('a picture', () => document.querySelector('.screen img')?.naturalWidth > 0);
    const { height, top, strip } = await phone.evaluate(() => ({
      height: document.querySelector('[aria-label="Live view"] code').offsetHeight,
      top: document.querySelector('.screen').getBoundingClientRect().top,
      strip: document.querySelector('.strip').offsetHeight,
    }));
    assert.ok(height < 60 && top < 300 && strip > 150, JSON.stringify({ height, top, strip }));
    await phone.send('Page.close');
  });

  step('a user who takes over acts, and the model waits or is told', async () => {
    const { page } = world;
    await page.click('button', 'Take over');
    await page.until('the take-over', () => document.querySelector('.screen.yours') !== null);
    await clickAt(0.25, 0.5);
    await requested('/clicked');
    await clickAt(0.75, 0.2);
    for (const key of ['h', 'i']) await page.press(key);
    await requested('/typed?hi');
    const [told] = await turn({ action: 'snapshot', timeout_ms: 1000 });
    assert.match(told, /The user has taken over the browser/);
    assert.doesNotMatch(told, /Bought/);
    const [status] = await turn({ action: 'status' });
    assert.match(status, /The user has taken it over/);
  });

  step('what waits runs when the browser is handed back', async () => {
    const { page } = world;
    const waiting = turn({ action: 'snapshot', timeout_ms: 30_000 });
    await pause(500);
    await page.click('button', 'Hand back');
    const [result] = await waiting;
    assert.match(result, /The user had the browser for \d+ s/);
    assert.match(result, /button \\?"Bought/);
    await page.until('the state', () => document.body.textContent.includes('The agent has the browser.'));
    const refused = await page.evaluate(post, `/api/sessions/${id}/browser/input`, { viewer: 'x', events: [{ type: 'key', key: 'a' }] });
    assert.deepEqual([refused.status, refused.body.message], [409, 'This page does not have the browser: take it over first.']);
  });

  step('tokens without the scopes watch, and do not act', async () => {
    const { page, server } = world;
    const other = new Client(server.url);
    const statuses = [];
    for (const scopes of [['view'], ['view', 'chat'], ['view', 'approve']]) {
      const { body } = await page.evaluate(post, '/api/tokens', { name: scopes.join(), scopes });
      const headers = { authorization: `Bearer ${body.token ?? body.secret}`, 'content-type': 'application/json' };
      const watched = await fetch(`${other.url}/api/sessions/${id}/browser`, { headers });
      const change = (path, request) => fetch(`${other.url}/api/sessions/${id}/browser/${path}`, { method: 'POST', headers, body: JSON.stringify(request) });
      const taken = await change('control', { take: true, viewer: 'x' });
      const acted = await change('input', { viewer: 'x', events: [] });
      statuses.push([watched.status, taken.status, acted.status]);
    }
    assert.deepEqual(statuses, Array(3).fill([200, 403, 403]));
    assert.equal((await fetch(`${server.url}/api/sessions/${id}/recording`)).status, 401);
  });

  step('the recording shows each step, without what the user did', async () => {
    const { page, server } = world;
    const [found] = await turn({ action: 'snapshot' });
    const reference = /button \\?"Bought\\?" \[ref=(e\d+)\]/.exec(found)[1];
    await turn({ action: 'act', kind: 'click', ref: reference });
    const texts = await page.until('two steps', () => {
      const steps = [...document.querySelectorAll('.strip li')].map((each) => each.querySelector('strong')?.textContent);
      return steps.length === 2 && [...document.querySelectorAll('.strip img')].every((image) => image.naturalWidth > 0) && steps;
    });
    assert.deepEqual(texts, [`1. open ${world.site.url}/`, `2. click button "Bought" (${reference})`]);
    const { steps } = JSON.parse(/\{.*\}/s.exec(await server.haft(['browser', 'recordings', 'last', '--json']))[0]);
    assert.deepEqual(steps.map((each) => [each.number, each.is_done, each.url]), [[1, true, `${world.site.url}/`], [2, true, `${world.site.url}/`]]);
    const shown = JSON.parse(/\{.*\}/s.exec(await server.haft(['browser', 'show', '--json', '--no-open']))[0]);
    assert.equal(shown.link, `${server.url}/#/browser/${id}`);
  });

  step('a past call leads to its step', async () => {
    const { page, server } = world;
    const calls = JSON.parse(/\[.*\]/s.exec(await server.haft(['history', '--tool', 'browser', '--json']))[0]);
    const record = calls.at(-1).id;
    assert.match(await server.haft(['history', record]), new RegExp(`recording +haft browser recordings ${id}`));
    await visit(page, `history/${record}`);
    await page.click('link', 'Browser and recording');
    await page.until('the step', () => document.querySelector('.strip li[aria-current="step"] strong')?.textContent.startsWith('1. open'));
    assert.deepEqual(page.errors, []);
  });
});
