// The canvas: a frame without network and with an origin of its own, in which an agent shows something.

import { api, button, h, pathTo, report } from '../core.js';

const PATIENCE = 4500;
/** Between two actions that reach the session. */
const PAUSE = 500;

export default function canvasPanel(sessionId) {
  const title = h('small.grow');
  /** A document may have scripts of anyone: it sends nothing until the user says so. */
  const allow = button('Let it send messages', () => letSend(!maySend), { class: 'quiet', hidden: true });
  const close = button('×', () => element.remove(), { class: 'quiet', ariaLabel: 'Hide the canvas' });
  const element = h('section.drawing', { ariaLabel: 'Canvas of the agent' }, h('div.row.spread', title, allow, close));
  let frame = null;
  let key = '';
  let ready = null;
  let lastAction = 0;
  let isDocument = false;
  let maySend = false;
  let token = '';
  const waiting = new Map();
  addEventListener('message', heard);
  return { element, receive, show, end: () => removeEventListener('message', heard) };

  /** Shows the canvas as the server has it. */
  function show({ shown, key: wanted, source, messages }) {
    if (!shown) return element.remove();
    title.textContent = source ? `Canvas: ${source}` : 'Canvas';
    if (key === wanted && frame) return undefined;
    key = wanted;
    isDocument = Boolean(source);
    token = crypto.randomUUID();
    allow.hidden = !isDocument;
    letSend(false);
    frame?.remove();
    frame = h('iframe', { sandbox: 'allow-scripts', referrerpolicy: 'no-referrer', title: 'What the agent shows', src: `/canvas/${key}` });
    const loaded = new Promise((resolve) => {
      frame.whenReady = resolve;
    });
    ready = loaded.then(() => !isDocument && draw(messages));
    element.append(frame);
    return undefined;
  }

  /** Gives our script in the frame its token, and what there is to draw. */
  async function draw(messages) {
    await post({ op: 'init', token });
    if (messages?.length) await post({ op: 'push', messages });
  }

  function letSend(isAllowed) {
    maySend = isAllowed;
    allow.ariaPressed = isAllowed;
  }

  /** An interface is drawn by our own script, which knows the token; a document is believed if the user lets it. */
  function isBelieved(message) {
    return isDocument ? maySend : message.token === token;
  }

  /** A request of the tool; its answer goes back, and the first page that answers counts. */
  async function receive(event) {
    const { op, request } = event;
    let answer = {};
    if (op === 'show') {
      show(event);
      await Promise.race([ready, late()]);
    } else if (op === 'hide') element.remove();
    else answer = await ask(event);
    if (answer) await api.post(pathTo('canvas/answers', request), { answer }).catch(() => {});
  }

  /** Asks the frame; nothing if it does not answer in time. */
  async function ask(message) {
    if (!frame || (await Promise.race([ready.then(() => true), late()])) === null) return null;
    return post(message);
  }

  function late() {
    return new Promise((resolve) => setTimeout(resolve, PATIENCE, null));
  }

  async function post(message) {
    const number = message.request ?? `own-${Math.random()}`;
    const answered = new Promise((resolve) => waiting.set(number, resolve));
    frame.contentWindow.postMessage({ ...message, request: number }, '*');
    const answer = await Promise.race([answered, late()]);
    waiting.delete(number);
    return answer;
  }

  /** What the frame says counts for itself alone: its document may come from anywhere. */
  function heard(event) {
    if (!frame || event.source !== frame.contentWindow || event.data?.haft !== true) return;
    const { kind, request, answer } = event.data;
    if (kind === 'ready') frame.whenReady();
    if (kind === 'answer' && answer !== null && typeof answer === 'object') waiting.get(request)?.(answer);
    if (kind === 'action' && isBelieved(event.data)) act(event.data);
  }

  /** Only after a click or a key of the user, and not again and again: a script alone sends nothing. */
  function act({ name, surface, component, context }) {
    const isLater = performance.now() - lastAction > PAUSE;
    if (!navigator.userActivation?.isActive || !isLater || typeof name !== 'string') return;
    lastAction = performance.now();
    const values = context !== null && typeof context === 'object' && !Array.isArray(context) ? context : {};
    const event = { name, surface: String(surface ?? ''), component: String(component ?? ''), context: values };
    api.post(pathTo('sessions', sessionId, '/canvas/actions'), event).catch(report);
  }
}
