// Where the user writes. Enter sends, Shift-Enter is a new line, drafts survive a reload.

import { act, api, fill, h, money, pathTo, plural, report, store, tokens, visibleText } from '../core.js';
import { DroppedFiles } from './dropped-files.js';

const MOST_FILES = 12;

class Composer extends HTMLElement {
  /** `send(text, attachments)` starts or continues a turn; `commands` are the slash commands. */
  setup({ sessionId, send, commands }) {
    this.sessionId = sessionId;
    this.send = send;
    this.commands = commands;
    this.#build();
    return this;
  }

  #build() {
    const mayChat = store.can('chat');
    this.className = 'composer';
    this.text = h('textarea', {
      rows: 1,
      'aria-label': 'Message',
      placeholder: mayChat ? 'Message…  (@ for files, / for commands)' : 'This page may only watch: its token lacks the scope “chat”.',
      disabled: !mayChat,
      onkeydown: (event) => this.#key(event),
      oninput: () => this.#typed(),
      role: 'combobox',
      'aria-expanded': 'false',
      'aria-autocomplete': 'list',
    });
    this.text.value = localStorage.getItem(this.#draftKey) ?? '';
    this.stopButton = h(
      'button',
      { class: 'stop', title: 'Stop the turn (Esc)', hidden: true, onclick: () => this.stop() },
      '■ Stop ',
      h('kbd', 'Esc'),
    );
    this.sendButton = h('button', { class: 'primary', title: 'Send (Enter)', disabled: !mayChat, onclick: () => this.submit() }, 'Send');
    this.status = h('div.status-line');
    this.options = h('ul.suggest', { role: 'listbox', id: 'suggestions', hidden: true, 'aria-label': 'Suggestions' });
    this.text.setAttribute('aria-controls', 'suggestions');
    this.newBelow = h('button', { class: 'new-below', hidden: true });
    this.files = new DroppedFiles();
    this.files.button.disabled = !mayChat;
    const box = h('div.composer-box', this.files.button, this.text, this.stopButton, this.sendButton);
    fill(this, this.newBelow, this.options, this.files.element, box, this.status);
  }

  connectedCallback() {
    this.stopFiles ??= this.files?.listen(this.text);
  }

  disconnectedCallback() {
    this.stopFiles?.();
    this.stopFiles = null;
  }

  get #draftKey() {
    return `haft.draft.${this.sessionId ?? 'new'}`;
  }

  setText(text) {
    this.text.value = text;
    this.#typed();
    this.text.focus();
  }

  /** Shows what the session does and has used. */
  show(session, callCount) {
    const isBusy = ['running', 'waiting'].includes(session?.state);
    this.isBusy = isBusy;
    this.stopButton.hidden = !isBusy;
    this.sendButton.textContent = isBusy ? 'Queue' : 'Send';
    this.sendButton.title = isBusy ? "Queue for the model's next step (Enter)" : 'Send (Enter)';
    if (!session) return;
    const { usage, context_tokens: used, context_window: window } = session;
    const share = used && window ? `${Math.round((100 * used) / window)} % of ${tokens(window)}` : null;
    const sum = usage?.input_tokens + usage?.output_tokens;
    const cost = sum > 0 && (usage.cost == null ? `${tokens(sum)} tokens` : money(usage.cost));
    const parts = [session.model, share, cost, callCount ? plural(callCount, 'call') : null];
    fill(
      this.status,
      parts.filter(Boolean).map((part) => h('span', part)),
    );
  }

  showNew(count, jump) {
    this.newBelow.hidden = count === 0;
    this.newBelow.textContent = `↓ ${count} new`;
    this.newBelow.onclick = jump;
  }

  async submit() {
    const text = this.text.value.trim() || (this.files.count && `Attached: ${this.files.names}`);
    if (!text || this.isSending) return;
    this.isSending = true;
    try {
      if (text.startsWith('/') && (await this.#runCommand(text))) {
        this.#clear();
        return;
      }
      await this.send(text, await this.files.content());
      this.files.clear();
      this.#clear();
    } catch (error) {
      report(error);
    } finally {
      this.isSending = false;
    }
  }

  async stop() {
    if (!this.isBusy || !this.sessionId) return;
    await act(this.stopButton, () => api.post(pathTo('sessions', this.sessionId, '/cancel')));
  }

  #clear() {
    this.text.value = '';
    this.#typed();
  }

  async #runCommand(text) {
    const [name, ...rest] = text.slice(1).split(/\s+/);
    const command = this.commands.find((each) => each.name === name);
    if (!command) return false;
    await command.run(rest.join(' '));
    return true;
  }

  #typed() {
    if (this.text.value) localStorage.setItem(this.#draftKey, this.text.value);
    else localStorage.removeItem(this.#draftKey);
    this.#suggest();
  }

  #suggest() {
    const before = this.text.value.slice(0, this.text.selectionStart);
    const slash = /^\/(\w*)$/.exec(before);
    if (slash) {
      const found = this.commands.filter((command) => command.name.startsWith(slash[1]));
      this.#offer(found.map((command) => ({ label: `/${command.name}`, about: command.about, text: `/${command.name} `, from: 0 })));
      return;
    }
    const mention = /(?:^|\s)@(\S*)$/.exec(before);
    if (mention) this.#suggestFiles(mention[1]);
    else this.#offer([]);
  }

  /** Files of the workspace; an answer that comes after more was typed is of no use. */
  async #suggestFiles(typed) {
    const before = this.text.value;
    const { files } = await api.get('/api/files', { text: typed }).catch(() => ({ files: [] }));
    if (this.text.value !== before) return;
    const from = this.text.selectionStart - typed.length - 1;
    this.#offer(files.slice(0, MOST_FILES).map((path) => ({ label: visibleText(path), about: '', text: `@${path} `, from })));
  }

  #offer(entries) {
    this.offered = entries;
    this.choice = 0;
    this.options.hidden = entries.length === 0;
    this.text.setAttribute('aria-expanded', String(entries.length > 0));
    fill(
      this.options,
      entries.map((entry, index) =>
        h(
          'li',
          {
            role: 'option',
            id: `suggestion-${index}`,
            onmousedown: (event) => {
              event.preventDefault();
              this.#take(entry);
            },
          },
          h('code', entry.label),
          h('span.muted', entry.about),
        ),
      ),
    );
    this.#mark();
  }

  #mark() {
    [...this.options.children].forEach((option, index) => option.setAttribute('aria-selected', String(index === this.choice)));
    if (this.offered.length) this.text.setAttribute('aria-activedescendant', `suggestion-${this.choice}`);
    else this.text.removeAttribute('aria-activedescendant');
  }

  #take(entry) {
    const end = this.text.selectionStart;
    this.text.setRangeText(entry.text, entry.from, end, 'end');
    this.#offer([]);
    this.text.focus();
  }

  #key(event) {
    if (event.isComposing) return;
    const isOffered = this.offered?.length > 0;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (isOffered && step) {
      event.preventDefault();
      this.choice = (this.choice + step + this.offered.length) % this.offered.length;
      this.#mark();
    } else if (
      isOffered &&
      (event.key === 'Tab' || (event.key === 'Enter' && this.offered[this.choice].text.trim() !== this.text.value.trim()))
    ) {
      event.preventDefault();
      this.#take(this.offered[this.choice]);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (isOffered) this.#offer([]);
      else this.stop();
    } else if (event.key === 'ArrowUp' && !this.text.value && this.isBusy) {
      event.preventDefault();
      this.#takeBack();
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  /** Up on an empty line takes the newest queued message back. */
  async #takeBack() {
    try {
      const { text } = await api.delete(pathTo('sessions', this.sessionId, '/messages/last'));
      this.setText(text);
      this.takenBack?.(text);
    } catch (error) {
      if (error.status !== 409 && error.status !== 404) report(error);
    }
  }
}

customElements.define('haft-composer', Composer);
