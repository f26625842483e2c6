// The canvas: a frame without network and with an origin of its own, in which an agent shows something.

import { api, button, fill, h, inRow, joined, load, pathTo, renderedOutput, report, sessionPath, setText } from '../core.js';

const PATIENCE = 4500;
/** Between two actions that reach the session. */
const PAUSE = 500;

/** `parent` is what it is shown in, above all else. */
export default function canvasPanel(sessionId, parent) {
  const title = h('small.grow.title');
  /** A document may have scripts of anyone: it sends nothing until the user says so. */
  const allow = button('Let it send messages', () => letSend(!maySend), { class: 'quiet', hidden: true });
  const slider = h('input', { type: 'range', label: 'Version', min: 1, hidden: true, oninput: look });
  const source = button('Source', () => turn(!isSource), 'quiet');
  const wide = button('Full screen', () => element.requestFullscreen(), { class: 'quiet', hidden: !document.fullscreenEnabled });
  const hide = button('Hide', () => fold(!stage.hidden), 'quiet');
  /** Over the frame, which stays for the agent: a version that another one has replaced, or the source of one. */
  const over = h('div.scroll', { hidden: true });
  const stage = h('div.stage', over);
  const element = h('section.drawing', { label: 'Canvas of the agent' }, inRow(title, slider, source, allow, wide, hide), stage);
  let isSource = false;
  let again = null;
  let frame = null;
  let newest = {};
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
  function show({ shown, key: wanted, source: from, messages, last, first }) {
    if (!shown) return away();
    fold(false);
    if (key === wanted && frame) return undefined;
    parent.prepend(element);
    key = wanted;
    isDocument = Boolean(from);
    token = crypto.randomUUID();
    allow.hidden = !isDocument;
    letSend(false);
    frame?.remove();
    frame = frameOf(key);
    const loaded = new Promise((resolve) => {
      frame.whenReady = resolve;
    });
    ready = loaded.then(() => !isDocument && draw(messages));
    stage.prepend(frame);
    return keep(first, last, from);
  }

  /** A frame that is out of the document forgets what it showed. */
  function away() {
    frame?.remove();
    frame = null;
    element.remove();
  }

  /** Folded, the frame stays for the agent. */
  function fold(isFolded) {
    stage.hidden = isFolded;
    hide.textContent = isFolded ? 'Show' : 'Hide';
  }

  function frameOf(path) {
    return h('iframe', { sandbox: 'allow-scripts', referrerpolicy: 'no-referrer', title: 'What the agent shows', src: `/canvas/${path}` });
  }

  /** The versions that there are; who looked at the newest one sees the newest one. */
  function keep(first, last, from) {
    const isFollowed = Number(slider.value) === (newest.number ?? Number(slider.value));
    newest = { number: last, source: from };
    slider.max = last;
    slider.min = first;
    if (isFollowed) slider.value = last;
    slider.hidden = first === last;
    look();
  }

  function turn(isTurned) {
    isSource = isTurned;
    source.ariaPressed = isTurned;
    look();
  }

  /** Shows the chosen version, or its source. */
  function look() {
    const number = Number(slider.value);
    const isShown = number === newest.number;
    over.hidden = isShown && !isSource;
    frame.inert = !over.hidden;
    name(number, isShown && newest.source);
    fill(over);
    if (over.hidden) return;
    if (again) again();
    else again = load(over, () => api.get(sessionPath(sessionId, `/canvas/versions/${slider.value}`)), drawVersion);
  }
  /** The version that was asked for last: `load` passes over answers that come later than newer ones. */
  function drawVersion(version) {
    if (over.hidden) return null;
    name(Number(slider.value), version.source);
    return isSource ? renderedOutput(version.source_html) : oldFrame(version);
  }

  function name(number, from) {
    setText(title, joined(['Canvas', !slider.hidden && `version ${number} of ${newest.number}`, from]));
  }

  /** What it says is not heard. */
  function oldFrame({ key: path, source: from, messages }) {
    const old = frameOf(path);
    if (!from) old.onload = () => old.contentWindow.postMessage({ op: 'push', messages }, '*');
    return old;
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
    } else if (op === 'hide') away();
    else {
      if (op === 'reset' && frame) keep(event.first, event.last, newest.source);
      answer = await ask(event);
    }
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
    api.post(sessionPath(sessionId, '/canvas/actions'), event).catch(report);
  }
}
