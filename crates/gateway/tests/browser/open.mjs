// A server, a browser and a page that is signed in, which end with the tests of the file.

import { after, before } from 'node:test';
import { Browser } from './chromium.mjs';
import { HaftServer } from './server.mjs';

/** Call it in `describe`; what it returns is filled before the first test. `prepare(world)` runs between server and browser. */
export function openWorld(options = {}, prepare = async () => {}) {
  const world = {};
  before(async () => {
    const { first, ...rest } = options;
    if (first) Object.assign(rest, await first(world));
    world.server = await HaftServer.start({ flags: ['--listen', '127.0.0.1:0'], ...rest });
    await prepare(world);
    world.browser = await Browser.launch();
    world.page = await world.browser.page();
    await world.page.goto(world.server.link);
    await world.page.find('heading', 'What should the agent do?');
  });
  after(async () => {
    await world.browser?.close();
    await world.server?.close();
    await world.site?.close();
  });
  return world;
}

/** Writes a message, and sends it. */
export async function send(page, text) {
  await page.type('combobox', 'Message', text);
  await page.press('Enter');
}

/** Goes to a place. */
export const visit = (page, place) =>
  page.evaluate((name) => {
    location.hash = `#/${name}`;
  }, place);

export const turnEnd = (page) => page.until('end of the turn', () => document.querySelector('.tools-line') !== null);
