// Chromium over its debugging pipe: no port that others could reach, nothing to install besides the browser.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { end, spawnOwned, within } from './owned.mjs';
import { Page } from './page.mjs';

const PROGRAMS = [process.env.HAFT_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-default-apps',
  '--disable-extensions',
  '--mute-audio',
  '--force-color-profile=srgb',
  '--disable-dev-shm-usage',
  '--disable-breakpad',
  '--disable-crash-reporter',
  // A page whose window is behind another one would neither draw nor keep time.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--remote-debugging-pipe',
  '--lang=en-US',
];
const COMMAND_TIME = 60_000;
const CLOSING_TIME = 5_000;

export function chromiumProgram() {
  const program = PROGRAMS.find((path) => path && existsSync(path));
  if (!program) throw new Error('Chromium is missing: apt-get install chromium, or set HAFT_CHROMIUM to the path of one');
  return program;
}

export class Browser {
  static async launch() {
    const browser = new Browser();
    try {
      await browser.send('Browser.getVersion');
    } catch (error) {
      await browser.close();
      throw error;
    }
    return browser;
  }

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'haft-browser-'));
    const options = { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'], env: { ...process.env, TZ: 'UTC', HOME: this.folder } };
    this.child = spawnOwned(chromiumProgram(), [...FLAGS, `--user-data-dir=${this.folder}`, 'about:blank'], options);
    this.output = '';
    this.child.stderr.on('data', (bytes) => {
      this.output = `${this.output}${bytes}`.slice(-4_000);
    });
    // Writing to a browser that has ended fails; the exit says so.
    this.child.stdio[3].on('error', () => {});
    this.last = 0;
    this.waiting = new Map();
    this.pages = new Map();
    this.child.on('exit', (code, signal) => this.#fail(new Error(`Chromium has ended with ${code ?? signal}: ${this.output}`)));
    let rest = Buffer.alloc(0);
    this.child.stdio[4].on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.#receive(JSON.parse(rest.subarray(0, end)));
        rest = rest.subarray(end + 1);
      }
    });
  }

  /** Sends a command of the DevTools protocol, and returns its result. */
  send(method, params = {}, sessionId = undefined, time = COMMAND_TIME) {
    if (this.ended) return Promise.reject(this.ended);
    this.last += 1;
    const id = this.last;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, new Error(`${method}: no answer in ${time / 1000} s`)), time);
      this.waiting.set(id, { resolve, reject, timer, method });
    });
  }

  /** Opens a page with cookies of its own; pages of the same `context` share them. */
  async page({ width = 1280, height = 800, dark = false, context = undefined } = {}) {
    const browserContextId = context ?? (await this.send('Target.createBrowserContext')).browserContextId;
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId, newWindow: true });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, { targetId, sessionId, context: browserContextId });
    this.pages.set(sessionId, page);
    await page.prepare({ width, height, dark });
    return page;
  }

  /** Ends the browser, and with it all of its processes. */
  async close() {
    await end(this.child, () => this.send('Browser.close', {}, undefined, CLOSING_TIME).catch(() => {}), CLOSING_TIME);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #receive(message) {
    if (message.id)
      this.#settle(
        message.id,
        message.error ? new Error(`${this.waiting.get(message.id)?.method}: ${message.error.message}`) : message.result,
      );
    else if (message.method === 'Tracing.dataCollected') this.trace.push(...message.params.value);
    else if (message.method === 'Tracing.tracingComplete') this.traced();
    else this.pages.get(message.sessionId)?.event(message.method, message.params);
  }

  /** Runs something, and returns the milliseconds of processor time of each task of the pages' main threads meanwhile, largest first. */
  async taskTimes(run) {
    this.trace = [];
    const complete = new Promise((resolve) => {
      this.traced = resolve;
    });
    const traceConfig = { includedCategories: ['toplevel'], excludedCategories: ['*'] };
    await this.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig });
    await run();
    await this.send('Tracing.end');
    await within(COMMAND_TIME, 'end of the trace', complete);
    const isMain = new Set(
      this.trace
        .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
        .map(({ pid, tid }) => `${pid} ${tid}`),
    );
    const tasks = this.trace.filter(({ name, pid, tid }) => /RunTask$/.test(name) && isMain.has(`${pid} ${tid}`));
    return tasks.map(({ tdur }) => (tdur ?? 0) / 1000).sort((a, b) => b - a);
  }

  #settle(id, result) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    this.waiting.delete(id);
    clearTimeout(waiting.timer);
    if (result instanceof Error) waiting.reject(result);
    else waiting.resolve(result);
  }

  #fail(error) {
    this.ended = error;
    for (const id of [...this.waiting.keys()]) this.#settle(id, error);
  }
}
