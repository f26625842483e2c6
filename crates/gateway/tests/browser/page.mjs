// A page of the browser: what a user sees, does and hears of it.

import { outline } from './outline.mjs';

const PATIENCE = 60_000;
const KEYS = { Enter: 13, Escape: 27, Tab: 9, ArrowDown: 40, ArrowUp: 38, ' ': 32 };

export class Page {
  constructor(browser, { targetId, sessionId, context }) {
    Object.assign(this, { browser, targetId, sessionId, context });
    this.errors = [];
    this.requests = [];
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  async prepare({ width, height, dark }) {
    for (const domain of ['Page', 'Runtime', 'Network', 'Accessibility', 'Log', 'DOM']) await this.send(`${domain}.enable`);
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    const features = [
      { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ];
    await this.send('Emulation.setEmulatedMedia', { features });
  }

  event(method, params) {
    if (method === 'Runtime.exceptionThrown')
      this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.source === 'security') this.errors.push(params.entry.text);
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Network.loadingFinished') this.bytes = (this.bytes ?? 0) + params.encodedDataLength;
    if (method === 'Page.javascriptDialogOpening') {
      this.errors.push(`dialog: ${params.message}`);
      this.send('Page.handleJavaScriptDialog', { accept: false }).catch(() => {});
    }
  }

  goto(url) {
    return this.send('Page.navigate', { url });
  }

  /** Runs a function in the page; the values are its arguments. */
  async evaluate(run, ...values) {
    const expression = `(${run})(...${JSON.stringify(values)})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until the function returns something true, and returns it. */
  async until(what, run, ...values) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const value = await this.evaluate(run, ...values).catch(() => false);
      if (value) return value;
      if (Date.now() > end) throw new Error(`no ${what} in ${PATIENCE / 1000} s; the page:\n${await this.tree().catch(() => '?')}`);
      await this.evaluate(
        () =>
          new Promise((done) => {
            setTimeout(done, 50);
          }),
      ).catch(() => {});
    }
  }

  /** Waits for an element of this role whose accessible name matches. */
  async find(role, name) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await this.query(role, name);
      if (found) return found;
      if (Date.now() > end) throw new Error(`no ${role} “${name}”; the page:\n${await this.tree()}`);
      await this.evaluate(
        () =>
          new Promise((done) => {
            setTimeout(done, 50);
          }),
      ).catch(() => {});
    }
  }

  async query(role, name) {
    const { nodes } = await this.send('Accessibility.getFullAXTree').catch(() => ({ nodes: [] }));
    const matches = (text) => (name instanceof RegExp ? name.test(text) : text === name);
    return nodes.find((node) => !node.ignored && node.role?.value === role && matches(node.name?.value ?? ''));
  }

  /** Clicks as a user does: at the middle of what is shown. */
  async click(role, name) {
    const node = await this.find(role, name);
    await this.send('DOM.scrollIntoViewIfNeeded', { backendNodeId: node.backendDOMNodeId });
    const { model } = await this.send('DOM.getBoxModel', { backendNodeId: node.backendDOMNodeId });
    const [left, top, , , right, bottom] = model.border;
    const at = { x: (left + right) / 2, y: (top + bottom) / 2, button: 'left', clickCount: 1 };
    for (const type of ['mousePressed', 'mouseReleased']) await this.send('Input.dispatchMouseEvent', { type, ...at });
  }

  async type(role, name, text) {
    const node = await this.find(role, name);
    await this.send('DOM.focus', { backendNodeId: node.backendDOMNodeId });
    await this.send('Input.insertText', { text });
  }

  async press(key, modifiers = 0) {
    const code = KEYS[key] ?? key.toUpperCase().charCodeAt(0);
    const text = key === 'Enter' ? '\r' : key.length === 1 && !modifiers ? key : undefined;
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, modifiers, windowsVirtualKeyCode: code });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers, windowsVirtualKeyCode: code });
  }

  /** What a screen reader gets, as indented lines. */
  async tree(part = null) {
    const { nodes } = await this.send('Accessibility.getFullAXTree');
    return outline(nodes, part);
  }

  async screenshot() {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(data, 'base64');
  }
}
