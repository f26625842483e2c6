// The dialog in which the user answers an approval: effects first, the diff below, Deny has the focus.

import {
  act,
  alertUser,
  api,
  effectsList,
  fill,
  h,
  pathTo,
  rendered,
  renderedRegion,
  showModal,
  store,
  tick,
  toast,
  uniqueId,
  visible,
  visibleText,
} from '../core.js';

/** Keys and buttons do nothing this long after the dialog opened, so that nobody answers by accident. */
const GUARD = 500;
let current = null;

export function openApproval(id) {
  const approval = store.approvals.get(id);
  if (!approval || current?.approval.id === id) return;
  current?.box.close();
  current = new ApprovalDialog(approval);
}

export const isApprovalOpen = () => current !== null;

class ApprovalDialog {
  constructor(approval) {
    this.approval = approval;
    this.opened = performance.now();
    const titleId = uniqueId('approval');
    this.extra = h('div.stack');
    this.box = h(
      'dialog.approval',
      { 'aria-labelledby': titleId, onkeydown: (event) => this.#key(event) },
      h(
        'div.dialog-body',
        h(
          'div.row.spread',
          h('h2', { id: titleId }, `${visibleText(approval.agent)} wants to use ${visibleText(approval.tool)}`),
          h('span.countdown', { 'data-expires': approval.expires, role: 'timer' }),
        ),
        approval.edit_fault && h('p.call-error', `The edited arguments were not accepted: ${approval.edit_fault}`),
        effectsList(approval.effects),
        this.#because(),
        approval.diff_html && renderedRegion(approval.diff_html),
        !approval.diff_html && this.#arguments(),
        this.extra,
        this.#actions(),
      ),
    );
    showModal(this.box, () => this.#closed());
    tick();
    this.deny.focus();
    setTimeout(() => this.#arm(), GUARD);
    const effects = approval.effects.map((effect) => `${effect.kind} ${effect.target}`).join(', ');
    alertUser(`Approval needed: ${approval.agent} wants to use ${approval.tool}. ${effects}`);
  }

  #because() {
    const { reason, can_undo: canUndo, session_refused: refused } = this.approval;
    return h(
      'div.asked-because',
      h('div', h('strong', 'Asked because '), visible(reason)),
      h('div', canUndo ? 'Can be undone.' : h('span.state.ask', '! Cannot be undone.')),
      refused && h('div.muted', visible(refused)),
    );
  }

  #arguments() {
    return h('details', h('summary', 'Arguments'), rendered(this.approval.arguments_html));
  }

  #actions() {
    const { session_rules: rules, session_refused: refused, widths } = this.approval;
    const canAnswer = store.can('approve');
    const button = (label, key, run, attributes) =>
      h(
        'button',
        { disabled: true, title: `${label} (${key})`, 'aria-keyshortcuts': key, onclick: () => this.#guarded(run), ...attributes },
        label,
        h('kbd', key),
      );
    const answer = (word) => () => this.answer({ answer: word });
    this.deny = button('Deny', 'N', answer('deny'), { class: 'danger', disabled: !canAnswer });
    const others = [
      button('Deny and say why…', 'W', () => this.#comment()),
      button('Edit…', 'E', () => this.#edit()),
      !refused && widths?.length > 0 && button('Always…', 'A', () => this.#always()),
      !refused &&
        rules?.length > 0 &&
        button('This session', 'S', answer('session'), { title: `Adds for this session: ${rules.join(', ')} (S)` }),
      button('Allow once', 'Y', answer('once'), { class: 'primary' }),
    ];
    this.armed = canAnswer ? others.filter(Boolean) : [];
    return h(
      'div.approval-actions',
      this.deny,
      this.armed,
      !canAnswer && h('p.muted', 'This page may not answer: its token lacks the scope “approve”.'),
    );
  }

  #arm() {
    for (const button of this.armed) button.disabled = false;
  }

  #guarded(run) {
    if (performance.now() - this.opened >= GUARD) run();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')) return;
    const key = event.key.toUpperCase();
    const button = [this.deny, ...this.armed].find((each) => each.getAttribute('aria-keyshortcuts') === key);
    if (!button || button.disabled) return;
    event.preventDefault();
    event.stopPropagation();
    button.click();
  }

  #comment() {
    const input = h('textarea', {
      rows: 2,
      'aria-label': 'What the model should do instead',
      placeholder: 'What should it do instead? The model reads this.',
    });
    fill(
      this.extra,
      input,
      h(
        'button',
        { class: 'danger', onclick: () => this.answer({ answer: 'deny', comment: input.value.trim() || undefined }) },
        'Deny with this comment',
      ),
    );
    input.focus();
  }

  #edit() {
    const input = h(
      'textarea',
      { rows: 8, class: 'mono', spellcheck: 'false', 'aria-label': 'Arguments as JSON' },
      JSON.stringify(this.approval.arguments, null, 2),
    );
    const wrong = h('p.problem', { role: 'alert' });
    const send = () => {
      try {
        this.answer({ answer: 'edit', arguments: JSON.parse(input.value) });
      } catch (error) {
        wrong.textContent = `This is not JSON: ${error.message}`;
      }
    };
    fill(
      this.extra,
      h('p.muted', 'The edited call is checked and asked about again.'),
      input,
      wrong,
      h('button', { class: 'primary', onclick: send }, 'Use these arguments'),
    );
    input.focus();
  }

  #always() {
    const { widths, rules_file: file } = this.approval;
    const group = uniqueId('width');
    const choices = widths.map((width, at) =>
      h(
        'label.check',
        h('input', { type: 'radio', name: group, value: String(width.index), checked: at === 0 }),
        h(
          'span',
          `${width.name}: `,
          h('code', visible(width.rules.join(', '))),
          ' ',
          h('small', { title: (width.past ?? []).join('\n') }, `would have covered ${width.past_calls ?? 0} past calls`),
        ),
      ),
    );
    const save = () => this.answer({ answer: 'always', width: Number(this.extra.querySelector('input:checked').value) });
    fill(
      this.extra,
      h('fieldset.stack', h('legend', 'Always allow'), choices, h('small', 'Saved in ', h('code', file ?? 'your configuration'))),
      h('button', { class: 'primary', onclick: save }, 'Save this rule and allow'),
    );
    this.extra.querySelector('input').focus();
  }

  async answer(answer) {
    const { id, fingerprint } = this.approval;
    this.isAnswered = true;
    await act(this.deny, async () => {
      try {
        await api.post(pathTo('approvals', id), { fingerprint, ...answer });
      } catch (error) {
        if (error.status !== 409) throw error;
        toast(error.message, { fix: error.help });
      }
      this.box.close();
    });
  }

  #closed() {
    if (current === this) current = null;
    store.tell('approval-dialog-closed');
  }
}

const ANSWERS = { once: 'allowed once', session: 'allowed for the session', always: 'always allowed', edit: 'edited', deny: 'denied' };

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
