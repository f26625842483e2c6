// The dialog in which the user answers an approval: effects first, the diff below, Deny has the focus.

import {
  act,
  alertUser,
  api,
  button,
  effectsList,
  fill,
  go,
  h,
  inStack,
  jsonField,
  mono,
  muted,
  pathTo,
  prevent,
  rendered,
  renderedRegion,
  showModal,
  small,
  store,
  tick,
  toast,
  uniqueId,
  visible,
} from '../core.js';

/** Keys and buttons do nothing this long after the dialog opened, so that nobody answers by accident. */
const GUARD = 500;
const ANSWERS = { once: 'allowed once', session: 'allowed for the session', always: 'always allowed', edit: 'edited', deny: 'denied' };
let current = null;
/** Rules that the user wrote: those that were not accepted are corrected. */
let written = '';

export function openApproval(id) {
  const approval = store.approvals.get(id);
  if (!approval || current?.approval.id === id) return;
  current?.box.close();
  current = approvalDialog(approval);
}

export const isApprovalOpen = () => current !== null;

function approvalDialog(approval) {
  const { agent, tool, effects, reason, can_undo: canUndo, session_refused: refused, diff_html: diff, similar } = approval;
  const opened = performance.now();
  const id = uniqueId('approval');
  const extra = inStack();
  const mayAnswer = store.can('approve');
  const deny = answerButton('Deny', 'N', () => answer('deny'), { class: 'danger', disabled: !mayAnswer });
  const others = mayAnswer ? otherAnswers() : [];
  const box = h(
    'dialog.approval',
    { 'aria-labelledby': id, onkeydown: key },
    h(
      'div.dialog-body',
      h(
        'div.row.spread',
        h('h2', { id }, `${agent} wants to use ${tool}`),
        h('span.countdown', { 'data-expires': approval.expires, role: 'timer' }),
      ),
      approval.edit_fault && h('p.call-error', `Not accepted: ${approval.edit_fault}`),
      effectsList(effects),
      h(
        'div.asked-because',
        h('div', h('strong', 'Asked because '), reason),
        h('div', canUndo ? 'Can be undone.' : h('span.state.ask', '! Cannot be undone.')),
        similar && h('div', pastCalls()),
        refused && h('div.muted', `“Session” and “always” are off because ${refused}.`),
      ),
      diff ? renderedRegion(diff) : h('details', h('summary', 'Arguments'), rendered(approval.arguments_html)),
      extra,
      h(
        'div.approval-actions',
        deny,
        others,
        !mayAnswer && muted('The token of this page lacks the scope “approve”.'),
      ),
    ),
  );
  const self = { approval, box, isAnswered: false };
  showModal(box, () => {
    if (current === self) current = null;
    store.tell('approval-dialog-closed');
  });
  tick();
  deny.focus();
  setTimeout(() => others.forEach((each) => (each.disabled = false)), GUARD);
  alertUser(`Approval needed: ${agent} wants to use ${tool}. ${effects.map(({ kind, target }) => `${kind} ${target}`).join(', ')}`);
  return self;

  /** What was decided about calls like this one; their list is in the history. */
  function pastCalls() {
    const { allowed, denied, rule, since } = similar;
    const show = () => {
      box.close();
      go('history', null, { rule, since });
    };
    const text = `Similar: allowed ${allowed} ×, denied ${denied} × in 30 days`;
    return allowed + denied ? button(text, show, 'link') : 'No similar call in 30 days.';
  }

  function answerButton(label, letter, run, attributes) {
    const guarded = () => performance.now() - opened >= GUARD && run();
    const words = [label, h('kbd', letter)];
    return button(words, guarded, { disabled: true, title: `${label} (${letter})`, ariaKeyShortcuts: letter, ...attributes });
  }

  function otherAnswers() {
    const { session_rules: rules, widths } = approval;
    return [
      answerButton('Deny and say why…', 'W', comment),
      answerButton('Edit…', 'E', edit),
      !refused && widths?.length > 0 && answerButton('Always…', 'A', always),
      !refused &&
        rules?.length > 0 &&
        answerButton('This session', 'S', () => answer('session'), { title: `Adds for this session: ${rules.join(', ')} (S)` }),
      answerButton('Allow once', 'Y', () => answer('once'), { class: 'primary' }),
    ].filter(Boolean);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')) return;
    const pressed = [deny, ...others].find((each) => each.ariaKeyShortcuts === event.key.toUpperCase());
    if (!pressed || pressed.disabled) return;
    prevent(event);
    event.stopPropagation();
    pressed.click();
  }

  /** Asks for more below the effects; the first field gets the focus. */
  function ask(...content) {
    fill(extra, content).querySelector('input, textarea').focus();
  }

  function comment() {
    const input = h('textarea', {
      rows: 2,
      label: 'What the model should do instead',
      placeholder: 'The model reads this.',
    });
    const send = () => answer('deny', { comment: input.value.trim() || undefined });
    ask(input, button('Deny with this comment', send, 'danger'));
  }

  function edit() {
    const field = jsonField(approval.arguments, { rows: 8, label: 'Arguments as JSON' });
    const send = () => field.isValid() && answer('edit', { arguments: field.value() });
    const note = muted('The edited call is checked and asked about again.');
    ask(note, field.element, button('Use these arguments', send, 'primary'));
  }

  function always() {
    const group = uniqueId('width');
    const own = h('input', { type: 'radio', name: group });
    const onfocus = () => own.click();
    const value = (approval.edit_fault && written) || approval.widths[0].rules.join('\n');
    const text = h('textarea', { rows: 2, label: 'Rules, one a line', value, onfocus });
    const choices = approval.widths.map((width, at) =>
      h(
        'label.check',
        h('input', { type: 'radio', name: group, value: width.index, checked: at === 0 }),
        h(
          'span',
          `${width.name}: `,
          mono(visible(width.rules.join(', '))),
          ' ',
          small({ title: (width.past ?? []).join('\n') }, `covers ${width.past_calls ?? 0} past calls`),
        ),
      ),
    );
    const chosen = () => ({ width: Number(extra.querySelector('input:checked').value) });
    const save = () => answer('always', own.checked ? { rules: (written = text.value).split('\n') } : chosen());
    const file = small('Saved in ', mono(approval.rules_file ?? 'your configuration'));
    ask(
      h('fieldset.stack', h('legend', 'Always allow'), choices, h('label.check', own, 'edit rule…'), text, file),
      button('Save this rule and allow', save, 'primary'),
    );
  }

  async function answer(word, more) {
    self.isAnswered = true;
    await act(async () => {
      try {
        await api.post(pathTo('approvals', approval.id), { fingerprint: approval.fingerprint, answer: word, ...more });
      } catch (error) {
        if (error.status !== 409) throw error;
        toast(error.message, { fix: error.help });
      }
      box.close();
    });
  }
}

/** Closes the dialog of a question that was answered elsewhere or has expired. */
export function watchApprovals() {
  store.on('approvals', ({ closed }) => {
    if (!closed || current?.approval.id !== closed.id) return;
    const { approval, isAnswered, box } = current;
    box.close();
    if (isAnswered) return;
    const text =
      closed.answer === 'none'
        ? `The question about ${approval.tool} is closed: nobody answered in time, or the call ended.`
        : `${approval.tool} was ${ANSWERS[closed.answer] ?? closed.answer} by ${closed.by}.`;
    toast(text, closed.answer === 'none' ? { fix: 'Ask for it again if you want it.' } : {});
  });
  store.on('reset', () => current && !store.approvals.has(current.approval.id) && current.box.close());
}
