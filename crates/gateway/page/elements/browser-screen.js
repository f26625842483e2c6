// The live view of a browser. Its pictures come when something has changed; mouse and keys go there while the user has it.

import { api, button, fill, h, inRow, prevent, report, sessionPath, setText, store } from '../core.js';

const PAUSE = 2000;
const BUTTONS = ['left', 'middle', 'right'];
const STATES = {
  model: 'The agent has the browser.',
  yours: 'You have the browser; the agent waits. Shift-Esc leaves the picture.',
  other: 'The browser was taken over on another page.',
};

export function browserScreen(id) {
  const viewer = crypto.randomUUID();
  const path = sessionPath(id, '/browser');
  const picture = h('img', { alt: 'What the browser shows', draggable: 'false' });
  const screen = h('div.screen', { tabindex: 0, role: 'application', label: 'Picture of the browser', hidden: true }, picture);
  const address = h('code.grow.title');
  const state = h('span', { role: 'status' }, 'Looking for the browser…');
  const take = button('Take over', toggle, { class: 'primary', hidden: true });
  const element = h('section.stack', { label: 'Live view' }, inRow(address, state, take), screen);
  let control = '';
  let version;
  let isGone = false;
  let queue = [];
  let isSending = false;
  for (const [name, step] of Object.entries({ mousedown: 'press', mouseup: 'release', mousemove: 'move' }))
    screen.addEventListener(name, (event) => mouse(event, step));
  screen.addEventListener('wheel', wheel, { passive: false });
  screen.addEventListener('contextmenu', (event) => control === 'yours' && prevent(event));
  screen.addEventListener('keydown', key);
  screen.addEventListener('paste', paste);
  watch();
  return { element, end };

  function end() {
    isGone = true;
    if (control === 'yours') api.post(`${path}/control`, { take: false, viewer }).catch(() => {});
  }

  async function watch() {
    while (!isGone) {
      const view = await api.get(path, { after: version, viewer }).catch(() => null);
      if (isGone) return;
      draw(view);
      version = view?.running ? view.version : undefined;
      if (!view?.running) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  function draw(view) {
    control = view?.running ? view.control : '';
    screen.hidden = !view?.picture;
    if (view?.picture) picture.src = view.picture;
    fill(address, view?.url);
    setText(state, view ? (STATES[control] ?? 'No browser runs in this session.') : 'The server does not answer.');
    take.hidden = !control || !store.can('chat') || !store.can('approve');
    setText(take, control === 'model' ? 'Take over' : 'Hand back');
    screen.classList.toggle('yours', control === 'yours');
  }

  async function toggle() {
    const isTaken = control === 'model';
    await api.post(`${path}/control`, { take: isTaken, viewer });
    control = isTaken ? 'yours' : 'model';
    if (isTaken) screen.focus();
  }

  /** Where in the picture, as parts of its width and height. */
  function place({ clientX, clientY }) {
    const { left, top, width, height } = picture.getBoundingClientRect();
    return { x: (clientX - left) / width, y: (clientY - top) / height };
  }

  function held({ altKey, ctrlKey, metaKey, shiftKey }) {
    return [altKey && 'Alt', ctrlKey && 'Control', metaKey && 'Meta', shiftKey && 'Shift'].filter(Boolean);
  }

  function mouse(event, step) {
    if (control !== 'yours') return;
    prevent(event);
    if (step === 'press') screen.focus();
    const isHeld = step !== 'move' || event.buttons > 0;
    const button = isHeld ? BUTTONS[step === 'move' ? 0 : event.button] : undefined;
    send({ type: 'mouse', step, ...place(event), button, clicks: step === 'move' ? 0 : event.detail, modifiers: held(event) });
  }

  function wheel(event) {
    if (control !== 'yours') return;
    prevent(event);
    send({ type: 'wheel', ...place(event), right: event.deltaX, down: event.deltaY });
  }

  function key(event) {
    if (control !== 'yours' || event.isComposing) return;
    const modifiers = held(event);
    // What is pasted comes as an event of its own.
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'v') return;
    event.stopPropagation();
    prevent(event);
    if (event.key === 'Escape' && event.shiftKey) return void take.focus();
    if (['Alt', 'Control', 'Meta', 'Shift', 'Dead', 'Unidentified'].includes(event.key)) return;
    const isText = event.key.length === 1;
    send({ type: 'key', key: [...modifiers.filter((name) => !isText || name !== 'Shift'), event.key].join('+') });
  }

  function paste(event) {
    if (control !== 'yours') return;
    prevent(event);
    const text = event.clipboardData.getData('text/plain');
    if (text) send({ type: 'text', text });
  }

  /** One request at a time, so that everything arrives in order; of moves only the last counts. */
  async function send(event) {
    const last = queue.at(-1);
    if (event.step === 'move' && last?.step === 'move') queue.pop();
    queue.push(event);
    if (isSending) return;
    isSending = true;
    while (queue.length) {
      const events = queue.splice(0, 100);
      await api.post(`${path}/input`, { viewer, events }).catch(report);
    }
    isSending = false;
  }
}
