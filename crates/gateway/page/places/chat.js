// The conversation of one session, or the welcome to a new one.

import { act, announce, api, canvasPanel, chatPanel, copy, fill, go, h, href, modelMenu, pathTo, report, store, welcome } from '../core.js';
import { isApprovalOpen, openApproval } from '../elements/approval.js';
import '../elements/composer.js';
import { chatHeader } from '../elements/chat-header.js';
import { forkSession } from '../elements/session-actions.js';
import { announcement, estimate, renderRow, rowsOf } from '../elements/transcript-view.js';
import { slashCommands } from '../elements/slash-commands.js';
import '../elements/virtual-list.js';

class ChatPlace {
  constructor(root, { id, query }) {
    this.root = root;
    this.id = id;
    this.query = query;
    this.unfolded = new Set();
    this.unseen = 0;
    this.#build();
    if (id) this.#load();
    else this.#showWelcome();
  }

  get session() {
    return store.sessions.get(this.id);
  }

  #build() {
    this.header = chatHeader(this);
    this.list = h('haft-list.transcript', { tabindex: 0, 'data-role': 'list', 'data-label': 'Conversation', 'aria-label': 'Conversation' });
    this.list.setup({ render: (item, row) => renderRow(item, row, this.#rowActions), estimate, sticky: true });
    this.list.addEventListener('viewchange', () => this.#viewChanged());
    this.composer = h('haft-composer').setup({
      sessionId: this.id,
      send: (text, attachments) => this.#send(text, attachments),
      commands: slashCommands(this),
    });
    this.composer.takenBack = (text) => {
      this.transcript?.takeBack(text);
      this.#redraw();
    };
    this.main = h('div.chat-main', this.list, this.composer);
    this.box = h('div.chat', this.main);
    fill(this.root, this.header.element, this.box);
    this.stops = [
      store.on('sessions', (session) => (!session || session.id === this.id) && this.#drawSession()),
      store.on('approvals', (change) => this.#approvalsChanged(change)),
      store.on('approval-dialog-closed', () => setTimeout(() => this.#askNext(), 300)),
      store.on('reset', () => this.id && this.#load()),
      store.on('canvas', (event) => event.session === this.id && this.#canvas((canvas) => canvas.receive(event))),
    ];
  }

  #rowActions = {
    toggleFold: (key) => {
      if (!this.unfolded.delete(key)) this.unfolded.add(key);
      this.#redraw();
    },
    messageMenu: (item) => {
      const mayFork = store.can('chat') && Number.isInteger(item.number);
      const edit = (id) => localStorage.setItem(`haft.draft.${id}`, item.text);
      const retry = (model) => this.#fork(item, (id) => api.post(pathTo('sessions', id, '/messages'), { text: item.text, model }));
      return [
        { label: 'Copy', run: () => copy(item.text) },
        mayFork && { label: 'Edit and resend (forks)', run: () => this.#fork(item, edit) },
        mayFork && { label: 'Retry with another model… (forks)', run: () => modelMenu(document.activeElement, retry) },
      ];
    },
  };

  /** A copy of the session before a message; `begin` gets its id. */
  async #fork(item, begin) {
    const fork = await forkSession(this.id, item.number);
    if (!fork) return;
    await act(null, () => begin(fork.id));
    go('chat', fork.id);
  }

  async #showWelcome() {
    this.list.replaceWith(
      await welcome(
        (text) => this.#send(text),
        (text) => this.composer.setText(text),
      ),
    );
    this.composer.text.focus();
    if (this.query.has('text')) this.composer.setText(this.query.get('text'));
    this.#drawSession();
  }

  async #load() {
    this.stopItems?.();
    try {
      if (!this.session) store.putSession(await api.get(pathTo('sessions', this.id)));
      this.transcript = await store.transcript(this.id);
    } catch (error) {
      this.#showMissing(error);
      return;
    }
    if (this.isGone) return;
    this.stopItems = store.on(`items:${this.id}`, (change) => this.#changed(change));
    this.#redraw();
    this.#drawSession();
    this.list.scrollToEnd();
    this.#jump();
    this.#askNext();
    this.#showCanvas();
    if (matchMedia('(pointer: fine)').matches) this.composer.text.focus();
  }

  /** What the agent showed before this page was opened. */
  async #showCanvas() {
    const state = await api.get(pathTo('sessions', this.id, '/canvas')).catch(() => null);
    if (state?.shown) this.#canvas((canvas) => canvas.show(state));
  }

  async #canvas(use) {
    this.canvas ??= canvasPanel(this.id);
    const canvas = await this.canvas;
    if (this.isGone) return;
    if (!canvas.element.isConnected) this.main.prepend(canvas.element);
    use(canvas);
  }

  #showMissing(error) {
    const text = error.status === 404 ? 'This session does not exist any more.' : error.message;
    this.list.replaceWith(h('div.empty.grow', h('p', text), h('a.button.primary', { href: href('chat') }, 'Start a new session')));
  }

  #jump() {
    const call = this.query.get('call');
    if (call && this.transcript.callItem(call)) this.list.scrollToKey(this.transcript.callItem(call).id);
  }

  #redraw() {
    this.structure = false;
    if (this.transcript) this.list.items = rowsOf(this.transcript.items, this.unfolded);
  }

  #changed(change) {
    const text = announcement(change);
    if (text) announce(text);
    if (change.isNew && !this.list.isAtEnd) this.#countUnseen();
    if (change.isNew && change.item.type === 'user') this.list.scrollToEnd();
    if (change.isNew || change.name === 'item' || (change.item.type === 'call' && change.before)) this.#restructure();
    this.list.refresh(change.item.id);
    for (const item of [change.ended, ...(change.delivered ?? [])]) if (item) this.list.refresh(item.id);
    if (change.name === 'call' || change.isNew) this.panel?.update();
  }

  /** Builds the rows again, at most once for each frame. */
  #restructure() {
    if (this.structure) return;
    this.structure = true;
    requestAnimationFrame(() => this.#redraw());
  }

  #countUnseen() {
    this.unseen += 1;
    this.composer.showNew(this.unseen, () => this.list.scrollToEnd());
  }

  async #viewChanged() {
    if (this.list.isAtEnd && this.unseen) {
      this.unseen = 0;
      this.composer.showNew(0);
    }
    if (this.list.scrollTop < 800 && this.transcript?.before && (await store.loadOlder(this.id).catch(report))) this.#redraw();
  }

  #drawSession() {
    this.header.update();
    this.panel?.update();
    const calls = this.transcript?.items.filter((item) => item.type === 'call').length;
    this.composer.show(this.session, calls);
    document.title = `${store.stateOf(this.session) === 'waiting' ? '◐ ' : ''}${this.session?.title || 'New session'} – Haft`;
  }

  #approvalsChanged({ asked, closed }) {
    const callId = asked?.call_id ?? closed?.approval?.call_id;
    const item = callId && this.transcript?.callItem(callId);
    if (item) this.list.rowOf(item.id)?.card?.redraw();
    if (asked && asked.session === this.id) this.#askNext();
  }

  /** Opens the oldest question of this session, unless the user is in the middle of writing. */
  #askNext() {
    if (this.isGone || isApprovalOpen() || document.querySelector('dialog[open]')) return;
    const isWriting = document.activeElement === this.composer.text && this.composer.text.value !== '';
    const next = [...store.approvals.values()].find((approval) => approval.session === this.id && !this.dismissed?.has(approval.id));
    if (!next || isWriting) return;
    (this.dismissed ??= new Set()).add(next.id);
    openApproval(next.id);
  }

  async #send(text, attachments) {
    let { id } = this;
    if (!id) {
      const session = await api.post('/api/sessions');
      store.putSession(session);
      ({ id } = session);
      // Loaded before the turn begins, so that each of its events is seen.
      await store.transcript(id);
    }
    await api.post(pathTo('sessions', id, '/messages'), { text, attachments, model: this.nextModel });
    this.nextModel = undefined;
    if (this.id) return void setTimeout(() => this.#askNext(), 300);
    localStorage.removeItem('haft.draft.new');
    return go('chat', id);
  }

  get isPanelShown() {
    return this.panel?.element.isConnected ?? false;
  }

  async togglePanel(isShown = !this.isPanelShown) {
    this.panel ??= await chatPanel(this);
    this.box.classList.toggle('with-panel', isShown);
    if (isShown) this.box.append(this.panel.element);
    else this.panel.element.remove();
    this.panel.update();
    this.header.update();
  }

  /** Keys of this place; true if it took the key. */
  key(event) {
    const { key } = event;
    const card = () => document.activeElement?.closest('haft-call');
    if (key === 'Escape') this.isPanelShown ? this.togglePanel(false) : this.composer.stop();
    else if (key === '[' || key === ']') this.togglePanel();
    else if (key === 'j' || key === 'k') this.#step(key === 'j' ? 1 : -1, card()?.call);
    else if (key === 'u') card()?.querySelector('[data-key="u"]')?.click();
    else return false;
    return true;
  }

  /** Focuses the next or previous card. */
  #step(direction, current) {
    const calls = this.list.items.filter((item) => item.type === 'call');
    const at = current ? calls.findIndex((item) => item.call.id === current.id) : direction > 0 ? -1 : calls.length;
    const next = calls[at + direction];
    if (!next) return;
    if (!this.list.rowOf(next.id)) this.list.scrollToKey(next.id);
    this.list.rowOf(next.id)?.querySelector('.call-line').focus();
  }

  get search() {
    return this.composer.text;
  }

  /** Takes another address of what it shows already, such as `#/chat` for `#/`: what the user writes stays. */
  update(to) {
    if (to.id !== this.id) return false;
    this.query = to.query;
    if (this.transcript) this.#jump();
    return true;
  }

  unmount() {
    this.isGone = true;
    this.canvas?.then((canvas) => canvas.end());
    this.stopItems?.();
  }
}

export const mount = (root, route) => new ChatPlace(root, route);
