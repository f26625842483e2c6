// Where the user writes. Enter sends, Shift-Enter is a new line, drafts survive a reload.

import {
  act,
  api,
  button,
  choices,
  fill,
  h,
  money,
  mono,
  plural,
  prevent,
  report,
  sessionPath,
  store,
  tokens,
} from '../core.js';
import { droppedFiles } from './dropped-files.js';

const MOST_FILES = 12;

export const draftKey = (sessionId) => `haft.draft.${sessionId ?? 'new'}`;

/** `send(text, attachments)` starts or continues a turn; `commands` are the slash commands; `takenBack(text)` was queued. */
export function composer({ sessionId, send, commands, takenBack }) {
  const mayChat = store.can('chat');
  const text = h('textarea', {
    rows: 1,
    label: 'Message',
    placeholder: mayChat ? 'Message…  (@ for files, / for commands)' : 'This page may only watch: its token lacks the scope “chat”.',
    disabled: !mayChat,
    value: localStorage.getItem(draftKey(sessionId)) ?? '',
    onkeydown: key,
    oninput: typed,
  });
  const options = choices(text, 'suggest', { draw: ({ label, about }) => [mono(label), h('span.muted', about)], take });
  const stopButton = button(['■ Stop ', h('kbd', 'Esc')], cancel, { class: 'stop', title: 'Stop the turn (Esc)', hidden: true });
  const sendButton = button('Send', submit, { class: 'primary', title: 'Send (Enter)', disabled: !mayChat });
  const status = h('div.status-line');
  const newBelow = h('button.new-below', { hidden: true });
  const files = droppedFiles(text);
  files.button.disabled = !mayChat;
  const element = h(
    'div.composer',
    newBelow,
    options.list,
    files.element,
    h('div.composer-box', files.button, text, stopButton, sendButton),
    status,
  );
  let isBusy = false;
  return { element, text, end: files.end, setText, show, showNew, stop };

  function setText(value) {
    text.value = value;
    typed();
    text.focus();
  }

  /** Shows what the session does and has used; the turn began at `since`. */
  function show(session, callCount, since) {
    isBusy = ['running', 'waiting'].includes(session?.state);
    stopButton.hidden = !isBusy;
    sendButton.textContent = isBusy ? 'Queue' : 'Send';
    sendButton.title = isBusy ? "Queue for the model's next step (Enter)" : 'Send (Enter)';
    if (!session) return;
    const { usage, context_tokens: used, context_window: size } = session;
    const share = used && size && `${Math.round((100 * used) / size)} % of ${tokens(size)}`;
    const sum = usage?.input_tokens + usage?.output_tokens;
    const cost = sum > 0 && (usage.cost == null ? `${tokens(sum)} tokens` : money(usage.cost));
    const parts = [session.model, share, cost, callCount && plural(callCount, 'call')];
    fill(
      status,
      parts.filter(Boolean).map((part) => h('span', part)),
      isBusy && since && h('span', { 'data-started': since }),
    );
  }

  function showNew(count, jump) {
    newBelow.hidden = count === 0;
    newBelow.textContent = `↓ ${count} new`;
    newBelow.onclick = jump;
  }

  async function submit() {
    const message = text.value.trim() || (files.count() && `Attached: ${files.names()}`);
    if (!message) return;
    if (!(message.startsWith('/') && (await runCommand(message)))) {
      await send(message, await files.content());
      files.clear();
    }
    text.value = '';
    typed();
  }

  function cancel() {
    return isBusy && sessionId && api.post(sessionPath(sessionId, '/cancel'));
  }

  function stop() {
    return act(cancel, stopButton);
  }

  async function runCommand(line) {
    const [name, ...rest] = line.slice(1).split(/\s+/);
    const command = commands.find((each) => each.name === name);
    await command?.run(rest.join(' '));
    return Boolean(command);
  }

  function typed() {
    if (text.value) localStorage.setItem(draftKey(sessionId), text.value);
    else localStorage.removeItem(draftKey(sessionId));
    suggest();
  }

  function suggest() {
    const before = text.value.slice(0, text.selectionStart);
    const [, slash] = /^\/(\w*)$/.exec(before) ?? [];
    const [, mention] = /(?:^|\s)@(\S*)$/.exec(before) ?? [];
    if (mention !== undefined) suggestFiles(mention);
    else
      options.show(
        commands
          .filter(({ name }) => slash !== undefined && name.startsWith(slash))
          .map(({ name, about }) => ({ label: `/${name}`, about, text: `/${name} `, from: 0 })),
      );
  }

  /** Files of the workspace; an answer that comes after more was typed is of no use. */
  async function suggestFiles(name) {
    const before = text.value;
    const { files: found } = await api.get('/api/files', { text: name }).catch(() => ({ files: [] }));
    if (text.value !== before) return;
    const from = text.selectionStart - name.length - 1;
    options.show(found.slice(0, MOST_FILES).map((path) => ({ label: path, text: `@${path} `, from })));
  }

  function take(entry) {
    text.setRangeText(entry.text, entry.from, text.selectionStart, 'end');
    options.show([]);
    text.focus();
  }

  function key(event) {
    if (event.isComposing || options.key(event)) return;
    const offered = options.chosen();
    if (offered && (event.key === 'Tab' || (event.key === 'Enter' && offered.text.trim() !== text.value.trim()))) {
      prevent(event);
      take(offered);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (offered) options.show([]);
      else stop();
    } else if (event.key === 'ArrowUp' && !text.value && isBusy) {
      prevent(event);
      takeBack();
    } else if (event.key === 'Enter' && !event.shiftKey) {
      prevent(event);
      sendButton.click();
    }
  }

  /** Up on an empty line takes the newest queued message back. */
  async function takeBack() {
    try {
      const { text: queued } = await api.delete(sessionPath(sessionId, '/messages/last'));
      setText(queued);
      takenBack(queued);
    } catch (error) {
      if (error.status !== 409 && error.status !== 404) report(error);
    }
  }
}
