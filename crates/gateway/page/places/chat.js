// The conversation of one session, or the welcome to a new one.

import {
  act,
  announce,
  api,
  canvasPanel,
  chatPanel,
  copy,
  empty,
  fill,
  go,
  h,
  href,
  modelMenu,
  report,
  sessionPath,
  store,
  visibleText,
  welcome,
} from '../core.js';
import { isApprovalOpen, openApproval } from '../elements/approval.js';
import { chatHeader } from '../elements/chat-header.js';
import { composer, draftKey } from '../elements/composer.js';
import { forkSession } from '../elements/session-actions.js';
import { announcement, estimate, joinResponses, renderRow, rowsOf } from '../elements/transcript-view.js';
import { slashCommands } from '../elements/slash-commands.js';
import '../elements/virtual-list.js';

export default function mount(root, { id, query }) {
  let transcript = null;
  /** The model of the next message, if the user chose one. */
  let nextModel;
  /** The agent of a new session, if the user chose one. */
  let nextAgent;
  let panel = null;
  /** The call of the card that had the focus last. */
  let selected;
  let canvas = null;
  let unseen = 0;
  let isGone = false;
  let isRedrawn = false;
  let stopItems = () => {};
  const unfolded = new Set();
  const dismissed = new Set();
  const getSession = () => store.sessions.get(id);
  const list = h('haft-list.transcript', { tabindex: 0, 'data-label': 'Conversation', label: 'Conversation' });
  const writing = composer({
    sessionId: id,
    send,
    commands: slashCommands(id, () => transcript),
    takenBack(text) {
      transcript?.takeBack(text);
      redraw();
    },
  });
  const header = chatHeader({
    getSession,
    getModel: () => nextModel,
    setModel(model) {
      nextModel = model;
    },
    getAgent: () => nextAgent,
    setAgent(agent) {
      nextAgent = agent;
    },
    isPanelShown,
    togglePanel,
    usesBrowser: () => transcript?.items.some((item) => item.call?.tool === 'browser'),
  });
  const main = h('div.chat-main', list, writing.element);
  const box = h('div.chat', main);
  list.setup({ render: (item, row) => renderRow(item, row, { toggleFold, messageMenu }), estimate, sticky: true });
  list.addEventListener('viewchange', viewChanged);
  list.addEventListener('focusin', ({ target }) => select(target.closest('haft-call')?.call));
  fill(root, header.element, box);
  if (id) open();
  else showWelcome();
  return {
    key,
    update,
    search: writing.text,
    stops: [
      store.on('sessions', (session) => (!session || session.id === id) && drawSession()),
      store.on('approvals', approvalsChanged),
      store.on('approval-dialog-closed', askSoon),
      store.on('reset', () => id && open()),
      store.on('canvas', (event) => event.session === id && useCanvas((shown) => shown.receive(event))),
      writing.end,
      () => {
        isGone = true;
        canvas?.then((shown) => shown.end());
        stopItems();
      },
    ],
  };

  function toggleFold(key) {
    if (!unfolded.delete(key)) unfolded.add(key);
    redraw();
  }

  function messageMenu({ text, number }) {
    const mayFork = store.can('chat') && Number.isInteger(number);
    const edit = (fork) => localStorage.setItem(draftKey(fork), text);
    const retry = (model) => forkBefore(number, (fork) => api.post(sessionPath(fork, '/messages'), { text, model }));
    return [
      { label: 'Copy', run: () => copy(text) },
      mayFork && { label: 'Edit and resend (forks)', run: () => forkBefore(number, edit) },
      mayFork && { label: 'Retry with another model… (forks)', run: () => modelMenu(document.activeElement, retry) },
    ];
  }

  /** A copy of the session before a message; `begin` gets its id. */
  async function forkBefore(number, begin) {
    const fork = await forkSession(id, number);
    if (!fork) return;
    await act(() => begin(fork.id));
    go('chat', fork.id);
  }

  async function showWelcome() {
    list.replaceWith(await welcome(send, writing.setText));
    writing.text.focus();
    if (query.has('text')) writing.setText(query.get('text'));
    drawSession();
  }

  async function open() {
    stopItems();
    try {
      if (!getSession()) store.putSession(await api.get(sessionPath(id)));
      transcript = await store.transcript(id);
    } catch (error) {
      const text = error.status === 404 ? 'This session does not exist any more.' : error.message;
      list.replaceWith(h('div.grow', empty(text, 'Start a new session', href('chat'))));
      return;
    }
    if (isGone) return;
    stopItems = store.on(`items:${id}`, changed);
    redraw();
    drawSession();
    list.scrollToEnd();
    jump();
    // First, so that the focus is there again when a question is answered.
    if (matchMedia('(pointer: fine)').matches) writing.text.focus();
    askNext();
    showCanvas();
  }

  /** What the agent showed before this page was opened. */
  async function showCanvas() {
    const state = await api.get(sessionPath(id, '/canvas')).catch(() => null);
    if (state?.shown) useCanvas((shown) => shown.show(state));
  }

  async function useCanvas(use) {
    canvas ??= canvasPanel(id, main);
    const shown = await canvas;
    if (!isGone) use(shown);
  }

  function jump() {
    const item = transcript.callItem(query.get('call'));
    if (item) list.scrollToKey(item.id);
  }

  function redraw() {
    isRedrawn = false;
    if (!transcript) return;
    const rows = rowsOf(transcript.items, unfolded);
    joinResponses(rows, (key) => list.refresh(key));
    list.items = rows;
  }

  function changed(change) {
    const { item, isNew, name, before, ended, delivered = [] } = change;
    const text = announcement(change);
    if (text) announce(text);
    if (isNew && !list.isAtEnd) {
      unseen += 1;
      writing.showNew(unseen, () => list.scrollToEnd());
    }
    if (isNew && item.type === 'user') list.scrollToEnd();
    if (isNew || name === 'item' || (item.type === 'call' && before)) redrawSoon();
    for (const each of [item, ended, ...(delivered ?? [])]) if (each) list.refresh(each.id);
    if (name === 'call' || isNew) panel?.update();
  }

  /** Builds the rows again, at most once for each frame. */
  function redrawSoon() {
    if (!isRedrawn) requestAnimationFrame(redraw);
    isRedrawn = true;
  }

  async function viewChanged() {
    if (list.isAtEnd && unseen) {
      unseen = 0;
      writing.showNew(0);
    }
    if (list.scrollTop < 800 && transcript?.before && (await store.loadOlder(id).catch(report))) redraw();
  }

  function drawSession() {
    const session = getSession();
    header.update();
    panel?.update();
    const count = (type) => transcript?.items.filter((item) => item.type === type);
    writing.show(session, count('call')?.length, count('user')?.at(-1)?.at);
    document.title = `${store.stateOf(session) === 'waiting' ? '◐ ' : ''}${visibleText(session?.title || 'New session')} – Haft`;
  }

  function approvalsChanged({ asked, closed }) {
    const item = transcript?.callItem(asked?.call_id ?? closed?.approval?.call_id);
    if (item) list.rowOf(item.id)?.card?.redraw();
    if (asked?.session === id) askNext();
  }

  function askSoon() {
    setTimeout(askNext, 300);
  }

  /** Opens the oldest question of this session, unless the user is in the middle of writing. */
  function askNext() {
    if (isGone || isApprovalOpen() || document.querySelector('dialog[open]')) return;
    const isWriting = document.activeElement === writing.text && writing.text.value !== '';
    const next = [...store.approvals.values()].find((approval) => approval.session === id && !dismissed.has(approval.id));
    if (!next || isWriting) return;
    dismissed.add(next.id);
    openApproval(next.id);
  }

  async function send(text, attachments) {
    let to = id;
    if (!to) {
      const session = await api.post('/api/sessions', { agent: nextAgent });
      store.putSession(session);
      to = session.id;
      // Loaded before the turn begins, so that each of its events is seen.
      await store.transcript(to);
    }
    await api.post(sessionPath(to, '/messages'), { text, attachments, model: nextModel });
    nextModel = undefined;
    if (id) return askSoon();
    localStorage.removeItem(draftKey());
    return go('chat', to);
  }

  function select(call) {
    selected = call ?? selected;
    if (call) panel?.select(call);
  }

  function isPanelShown() {
    return panel?.element.isConnected ?? false;
  }

  async function togglePanel(isShown = !isPanelShown()) {
    panel ??= await chatPanel(id, () => transcript, togglePanel);
    select(selected);
    box.classList.toggle('with-panel', isShown);
    if (isShown) box.append(panel.element);
    else panel.element.remove();
    panel.update();
    header.update();
  }

  /** Keys of this place; true if it took the key. */
  function key({ key: pressed }) {
    const card = document.activeElement?.closest('haft-call');
    if (pressed === 'Escape') isPanelShown() ? togglePanel(false) : writing.stop();
    else if (pressed === ']') togglePanel();
    else if (pressed === 'j' || pressed === 'k') step(pressed === 'j' ? 1 : -1, card?.call);
    else if (pressed === 'u') card?.querySelector('[data-key="u"]')?.click();
    else return false;
    return true;
  }

  /** Focuses the next or previous card. */
  function step(direction, current) {
    const calls = list.items.filter((item) => item.type === 'call');
    const at = current ? calls.findIndex((item) => item.call.id === current.id) : direction > 0 ? -1 : calls.length;
    const next = calls[at + direction];
    if (!next) return;
    if (!list.rowOf(next.id)) list.scrollToKey(next.id);
    list.rowOf(next.id)?.querySelector('.call-line').focus();
  }

  /** Takes another address of what it shows already, such as `#/chat` for `#/`: what the user writes stays. */
  function update(to) {
    if (to.id !== id) return false;
    ({ query } = to);
    if (transcript) jump();
    return true;
  }
}
