// The canvas: a model that is scripted here shows documents and interfaces, hostile ones too, and gets what the user does in them.

import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import { matchTree } from './golden.mjs';
import { scriptedModel } from './model.mjs';
import { openWorld, send } from './open.mjs';
import { otherSite } from './server.mjs';
import { step } from './steps.mjs';

const HOSTILE = '<img src=x onerror="top.hacked=1"><script>top.hacked=1</script>';
/** Tries everything that a frame should not be able to do. */
const ATTACK = `<!DOCTYPE html><h1>Attack</h1><script>
window.tried = {};
const attempt = async (name, run) => {
  try { window.tried[name] = String(await run()); } catch (error) { window.tried[name] = 'refused'; }
};
window.done = (async () => {
  window.tried.origin = self.origin;
  await attempt('parent', () => parent.document.title);
  await attempt('storage', () => localStorage.length);
  await attempt('cookie', () => document.cookie);
  await attempt('api', () => fetch('/api/me').then((answer) => answer.status));
  await attempt('remote', () => fetch('SITE/fetch').then((answer) => answer.status));
  await attempt('picture', () => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve('loaded');
    image.onerror = () => reject();
    image.src = 'SITE/picture.png';
  }));
  await attempt('top', () => { top.location = 'SITE/top'; return 'went'; });
  haft.action('forged', { by: 'a script' });
  parent.postMessage({ haft: true, kind: 'action', name: 'forged-too', context: {} }, '*');
  parent.postMessage({ haft: true, kind: 'answer', request: 1, answer: { value: 'forged' } }, '*');
  const frame = document.createElement('iframe');
  frame.src = 'SITE/frame';
  document.body.append(frame);
  return true;
})();
</script>`;

describe('canvas', { timeout: 240_000 }, () => {
  const seen = [];
  let model;
  const world = openWorld({
    first: async (opened) => {
      opened.site = await otherSite((request) => {
        seen.push(request.url);
        return { body: 'x' };
      });
      model = await scriptedModel('canvas');
      const config = `model = "work/m"\n[providers.work]\nprotocol = "openai"\nbase_url = "${model.url}"\n`;
      return { config, files: { 'attack.html': ATTACK.replaceAll('SITE', opened.site.url) } };
    },
  });
  after(() => model?.close());

  /** Lets the model do these calls after a message, and returns what it was sent after the last. */
  async function turn(...calls) {
    const before = model.asked.length;
    model.steps.push(...calls, `Done ${before}.`);
    await send(world.page, 'go');
    await world.page.until('the answer', (text) => document.body.textContent.includes(text), `Done ${before}.`);
    return model.asked.at(-1);
  }

  step('a document is shown in a frame that reaches nothing', async () => {
    const { page } = world;
    const last = await turn(
      { action: 'present', url: 'attack.html' },
      { action: 'eval', java_script: 'window.done.then(() => window.tried)' },
    );
    const sandbox = await page.until('the frame', () => document.querySelector('.drawing iframe')?.getAttribute('sandbox'));
    assert.equal(sandbox, 'allow-scripts');
    const result = JSON.parse(last).messages.at(-1).content;
    for (const name of ['parent', 'storage', 'cookie', 'api', 'remote', 'picture', 'top'])
      assert.match(result, new RegExp(`\\\\+"${name}\\\\+":\\\\+"refused`), `${name}: ${result}`);
    assert.match(result, /\\+"origin\\+":\\+"null/);
    assert.match(result, /what the script in the canvas returned/);
    assert.deepEqual(seen, [], 'nothing of it reached another site');
    const isAtEnd = () => document.querySelector('.new-below').hidden;
    assert.ok(await page.evaluate(isAtEnd), 'the conversation stays at its end, although the canvas takes room of it');
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(!model.asked.some((body) => body.includes("the user chose 'forged")), 'a script alone sends no message');
    await page.find('button', 'Let it send messages');
  });

  step('an interface is drawn as text, and what the user does comes back as a message', async () => {
    const { page } = world;
    const components = [
      { id: 'root', component: { Column: { children: { explicitList: ['btn', 'words', 'name', 'root'] } } } },
      { id: 'btn', component: { Button: { child: 'label', action: { name: 'confirm', context: [{ key: 'who', value: { path: '/who' } }] } } } },
      { id: 'label', component: { Text: { text: { literalString: 'A button that is easy to hit' }, usageHint: 'h1' } } },
      { id: 'words', component: { Text: { text: { literalString: HOSTILE } } } },
      { id: 'name', component: { TextField: { label: { literalString: 'Name' }, text: { path: '/who' } } } },
    ];
    const jsonl = [
      { surfaceUpdate: { surfaceId: 'main', components } },
      { dataModelUpdate: { surfaceId: 'main', contents: [{ key: 'who', valueString: 'Ann' }, { key: '__proto__', valueMap: [{ key: 'polluted', valueString: '1' }] }] } },
      { beginRendering: { surfaceId: 'main', root: 'root' } },
    ].map((message) => JSON.stringify(message));
    const last = await turn(
      { action: 'a2ui_push', jsonl: jsonl.join('\n') },
      { action: 'eval', java_script: '[document.querySelectorAll("img, script + script").length, document.body.innerText, ({}).polluted ?? "clean"]' },
    );
    const result = JSON.parse(last).messages.at(-1).content;
    assert.match(result, /\[0,/, `markup became elements: ${result}`);
    assert.match(result, /onerror=.*clean/);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    const forged = await turn({ action: 'eval', java_script: 'parent.postMessage({ haft: true, kind: "action", name: "forged", context: {} }, "*")' });
    assert.match(forged, /what the script in the canvas returned/);
    model.steps.push('I saw it.');
    const at = await page.evaluate(() => {
      const { left, top } = document.querySelector('.drawing iframe').getBoundingClientRect();
      return { x: left + 60, y: top + 40 };
    });
    for (const type of ['mousePressed', 'mouseReleased'])
      await page.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
    await page.until('the answer to the click', () => document.body.textContent.includes('I saw it.'));
    const message = "[Canvas: the user chose 'confirm' on the surface 'main' (component 'btn'). Values: {\"who\":\"Ann\"}]";
    assert.equal(JSON.parse(model.asked.at(-1)).messages.at(-1).content, message);
    assert.ok(!model.asked.some((body) => body.includes("the user chose 'forged")), 'a script alone sends no message');
  });

  step('a snapshot is a picture', async () => {
    const last = await turn({ action: 'snapshot', max_width: 400 });
    assert.match(last, /data:image\/png;base64,iVBOR/);
    assert.match(last, /drawn by its own frame/);
  });

  step('a script that never ends costs its own call', async () => {
    const last = await turn({ action: 'eval', java_script: 'for (;;) {}' });
    assert.match(JSON.parse(last).messages.at(-1).content, /No page answered in time/);
    assert.equal(await world.page.evaluate(() => 6 * 7), 42, 'the page still works');
  });

  step('what was shown before can be looked at again, with its source, and does nothing', async () => {
    const { page, server } = world;
    server.write('one.html', "<h1>First</h1><script>addEventListener('click', () => haft.action('old', {}))</script>");
    server.write('two.html', '<h1>Second</h1><img src=x onerror="top.hacked=1">');
    await turn({ action: 'present', url: 'one.html' }, { action: 'present', url: 'two.html' });
    const title = () => page.evaluate(() => document.querySelector('.drawing small').textContent);
    const [, newest] = /^Canvas · version (\d+) of \1 · two\.html$/.exec(await title());

    await page.until('no scripts of before', () => document.querySelectorAll('.drawing iframe').length === 1);
    await matchTree(page, 'canvas', { role: 'region', name: 'Canvas of the agent' });
    const frames = () => page.evaluate(() => document.querySelectorAll('.drawing iframe').length);
    await page.click('button', 'Source');
    await page.until('source', () => document.querySelector('.drawing .output')?.textContent.includes('onerror="top.hacked=1"'));
    assert.deepEqual([await frames(), await page.evaluate(() => [document.querySelector('.drawing iframe').inert, window.hacked])], [1, [true, null]]);
    await page.click('button', 'Source');
    await page.until('no source', () => document.querySelector('.drawing .output') === null);
    // A frame with an origin of its own is in a process of its own: the page sees its messages alone.
    await page.evaluate(() => {
      window.heard = [];
      addEventListener('message', ({ source, data }) => source === document.querySelectorAll('.drawing iframe')[1]?.contentWindow && window.heard.push(data.kind));
      document.querySelector('.drawing [type=range]').focus();
    });
    await page.press('ArrowLeft');
    await page.until('version before', (number) => document.querySelector('.drawing small').textContent === `Canvas · version ${number} of ${number + 1} · one.html`, newest - 1);
    await page.until('frame of the version', () => window.heard.includes('ready'));
    const old = await page.evaluate(() => document.querySelectorAll('.drawing iframe')[1].src);
    assert.match(await page.evaluate(async (url) => (await fetch(url)).text(), old), /<h1>First/);
    // The agent has the newest one all the while.
    const last = await turn({ action: 'eval', java_script: 'document.querySelector("h1").textContent' });
    assert.match(JSON.parse(last).messages.at(-1).content, /Second/);
    const at = await page.evaluate(() => {
      const { left, top } = document.querySelectorAll('.drawing iframe')[1].getBoundingClientRect();
      return { x: left + 60, y: top + 40 };
    });
    const before = model.asked.length;
    for (const type of ['mousePressed', 'mouseReleased']) await page.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
    await page.until('what its script says', () => window.heard.includes('action'));
    await page.evaluate(() => document.querySelector('.drawing [type=range]').focus());
    await page.press('ArrowRight');
    await page.until('newest version', () => document.querySelectorAll('.drawing iframe').length === 1);
    await turn({ action: 'eval', java_script: '1' });
    assert.ok(!model.asked.slice(before).some((body) => body.includes("the user chose 'old'")), 'an old version sends nothing');
    // Folded, it works for the agent all the same.
    await page.click('button', 'Hide');
    await page.until('no stage', () => document.querySelector('.drawing').offsetHeight < 60);
    assert.match(JSON.parse(await turn({ action: 'eval', java_script: '6 * 7' })).messages.at(-1).content, /42/);
    await page.click('button', 'Show');
    await page.until('stage', () => document.querySelector('.drawing iframe').offsetHeight > 80);
    // The path of a look ends with the next one.
    const status = (path) => page.evaluate(async (url) => (await fetch(url)).status, path);
    const again = (number) =>
      page.evaluate(async (wanted) => (await fetch(`/api/sessions/${location.hash.split("/").at(-1)}/canvas/versions/${wanted}`)).json(), number);
    assert.equal(await status(old), 200);
    assert.match((await again(newest - 1)).source_html, /First/);
    assert.deepEqual([await status(old), (await again(0)).error_type], [404, 'not_found']);
    // An answer that comes late does not take the place of what was chosen after it.
    const seen = () => page.evaluate(() => [document.querySelector('.drawing small').textContent, document.querySelectorAll('.drawing iframe').length]);
    const newestShown = await seen();
    await page.evaluate(() => {
      const ask = window.fetch;
      window.fetch = async (url, ...rest) => {
        const answer = await ask(url, ...rest);
        if (`${url}`.includes('/canvas/versions/')) await new Promise((arrive) => Object.assign(window, { arrive, fetch: ask }));
        return answer;
      };
      document.querySelector('.drawing [type=range]').focus();
    });
    await page.press('ArrowLeft');
    await page.until('answer that is held back', () => window.arrive !== undefined);
    await page.press('ArrowRight');
    await page.evaluate(() => {
      window.arrive();
      return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(null))));
    });
    assert.deepEqual(await seen(), newestShown);
  });

  step('what is hidden is gone, and the frame of an old key too', async () => {
    const { page } = world;
    const address = await page.evaluate(() => document.querySelector('.drawing iframe').getAttribute('src'));
    const status = (path) => page.evaluate(async (url) => (await fetch(url)).status, path);
    assert.equal(await status(address), 200);
    const headers = await page.evaluate(async (url) => (await fetch(url)).headers.get('content-security-policy'), address);
    assert.match(headers, /default-src 'none'.*sandbox allow-scripts/);
    await turn({ action: 'present', url: 'attack.html' }, { action: 'hide' });
    await page.until('no frame', () => document.querySelector('.drawing iframe') === null);
    assert.equal(await status(address), 404);
    assert.equal(await status('/canvas/00000000000000000000000000000000'), 404);
    // A frame that asks late is told so: a page that may not be framed would be an error in the console.
    const framing = await page.evaluate(async (url) => (await fetch(url)).headers.get('x-frame-options'), address);
    assert.equal(framing, 'SAMEORIGIN');
    // What is shown again is drawn again.
    const jsonl = [
      { surfaceUpdate: { surfaceId: 'again', components: [{ id: 'root', component: { Text: { text: { literalString: 'Drawn again' }, usageHint: 'h1' } } }] } },
      { beginRendering: { surfaceId: 'again', root: 'root' } },
    ].map((message) => JSON.stringify(message));
    const drawn = { action: 'eval', java_script: 'document.body.innerText' };
    const last = await turn({ action: 'a2ui_push', jsonl: jsonl.join('\n') }, { action: 'hide' }, { action: 'present' }, drawn);
    assert.match(JSON.parse(last).messages.at(-1).content, /Drawn again/);
    assert.deepEqual(page.errors, []);
  });
});
