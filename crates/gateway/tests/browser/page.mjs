// A page of the browser: what a user sees, does and hears of it.

import { outline } from './outline.mjs';
import { pause } from './owned.mjs';

const PATIENCE = 60_000;
const STEP = 30;
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
    // Only one window of the machine has the focus; each page here behaves as if it had it.
    await this.send('Emulation.setFocusEmulationEnabled', { enabled: true });
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

  async goto(url) {
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
  }

  /** Runs a function in the page; the values are its arguments. */
  async evaluate(run, ...values) {
    const expression = `(${run})(...${JSON.stringify(values)})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until the function returns something true, and returns it. */
  until(what, run, ...values) {
    return this.#wait(what, () => this.evaluate(run, ...values));
  }

  /** Waits for an element of this role whose accessible name matches. */
  find(role, name) {
    return this.#wait(`${role} “${name}”`, () => this.query(role, name));
  }

  /** Tries until something true comes; the error says what the page shows instead. */
  async #wait(what, attempt) {
    const end = Date.now() + PATIENCE;
    let failure = null;
    for (;;) {
      try {
        const value = await attempt();
        if (value) return value;
        failure = null;
      } catch (error) {
        // While a page loads there is nothing to ask.
        failure = error;
        if (this.browser.ended) throw error;
      }
      if (Date.now() > end) throw new Error(`no ${what} in ${PATIENCE / 1000} s${await this.#report(failure)}`);
      await pause(STEP);
    }
  }

  async #report(failure) {
    const tree = await this.tree().catch((error) => error.message);
    const address = await this.evaluate(() => `${location.pathname}${location.hash}, ${document.visibilityState}`).catch(() => '?');
    return `${failure ? ` (${failure.message})` : ''}; errors: ${JSON.stringify(this.errors)}; the page at ${address}:\n${tree}`;
  }

  async query(role, name) {
    const { nodes } = await this.send('Accessibility.getFullAXTree');
    const matches = (text) => (name instanceof RegExp ? name.test(text) : text === name);
    return nodes.find((node) => !node.ignored && node.role?.value === role && matches(node.name?.value ?? ''));
  }

  /** Clicks as a user does: at the middle of what is shown. */
  async click(role, name) {
    const at = await this.#wait(`${role} “${name}” to click`, () => this.#middle(role, name));
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  }

  /** Where it is. The page may replace it between the question and the answer: then the attempt fails. */
  async #middle(role, name) {
    const node = await this.query(role, name);
    if (!node) return null;
    await this.send('DOM.scrollIntoViewIfNeeded', { backendNodeId: node.backendDOMNodeId });
    const before = await this.#border(node);
    await pause(STEP);
    const [left, top, , , right, bottom] = await this.#border(node);
    // What still moves is not where it was seen.
    return before[0] === left && before[1] === top ? { x: (left + right) / 2, y: (top + bottom) / 2 } : null;
  }

  async #border(node) {
    return (await this.send('DOM.getBoxModel', { backendNodeId: node.backendDOMNodeId })).model.border;
  }

  async type(role, name, text) {
    await this.#wait(`${role} “${name}” to type into`, () => this.#focus(role, name));
    await this.send('Input.insertText', { text });
    await this.until(`“${text}” in ${role} “${name}”`, (wanted) => document.activeElement?.value?.includes(wanted), text);
  }

  async #focus(role, name) {
    const node = await this.query(role, name);
    if (!node) return false;
    await this.send('DOM.focus', { backendNodeId: node.backendDOMNodeId });
    const { object } = await this.send('DOM.resolveNode', { backendNodeId: node.backendDOMNodeId });
    const isFocused = { objectId: object.objectId, functionDeclaration: 'function () { return document.activeElement === this; }' };
    return (await this.send('Runtime.callFunctionOn', isFocused)).result.value;
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
