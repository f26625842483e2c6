// The card of one tool call in all its states.

import {
  api,
  button,
  callLook,
  duration,
  fill,
  h,
  hasFailed,
  href,
  inRow,
  inStack,
  isOpen,
  linkButton,
  mono,
  muted,
  pathTo,
  renderedOutput,
  setText,
  stateMark,
  store,
  toChange,
} from '../core.js';
import { callDetail } from './call-detail.js';
import { openApproval } from './approval.js';

/** What the user opened or closed, by session and call, as rows come and go. */
const openByUser = new Map();
/** What to change about a denied call, as it was asked of the server, by session and call. */
const advice = new Map();
const MOST_ADVICE = 200;

class CallCard extends HTMLElement {
  #call = null;
  #lines;
  #box;
  #line;
  #tail;
  #problem;
  #parts;
  /** The open part, the call that it was drawn from, and its tab. */
  #detail;
  #detailOf;
  #detailTab;
  /** What the problem was drawn from. */
  #problemOf;
  #hadExcerpt;

  set call(call) {
    const isSame = this.#call === call && this.#lines === call.lines;
    this.#call = call;
    this.#lines = call.lines;
    if (!isSame) this.#draw();
  }

  get call() {
    return this.#call;
  }

  get #key() {
    return `${this.#call.session}/${this.#call.id}`;
  }

  get isExpanded() {
    return openByUser.get(this.#key) ?? false;
  }

  redraw() {
    this.#draw();
  }

  toggle(isExpanded = !this.isExpanded) {
    openByUser.set(this.#key, isExpanded);
    this.#draw();
  }

  #draw() {
    const call = this.#call;
    const { kind } = callLook(call);
    if (!this.#box) this.#build();
    this.#box.className = `call ${hasFailed(call) || call.state === 'waiting' ? kind : ''} ${call.undone ? 'undone' : ''}`;
    this.#drawLine(call);
    this.#drawTail(call);
    this.#drawProblem(call);
    this.#line.ariaExpanded = this.isExpanded;
    if (this.isExpanded) {
      if (this.#detailOf !== call) this.#drawDetail(call);
    } else {
      this.#detail?.remove();
      this.#detail = this.#detailOf = null;
    }
  }

  #build() {
    this.#line = button('', () => this.toggle(), { class: 'call-line' });
    this.#tail = h('pre.call-tail', { hidden: true, ariaHidden: true });
    this.#problem = h('div', { hidden: true, class: 'call-body' });
    this.#box = h('div.call', this.#line, this.#tail, this.#problem);
    this.append(this.#box);
    this.#parts = {
      state: h('span'),
      tool: h('span.tool'),
      summary: h('span.summary'),
      took: h('span.took'),
      arrow: h('span', { ariaHidden: true, class: 'muted' }),
    };
    this.#line.append(...Object.values(this.#parts));
  }

  #drawLine(call) {
    const { state, tool, summary, took, arrow } = this.#parts;
    const isQuiet = call.state === 'success' && !call.undone;
    fill(state, stateMark(callLook(call), !isQuiet));
    state.firstChild.firstChild.classList.toggle('spin', call.state === 'running');
    setText(tool, call.tool);
    const change = call.added != null ? `+${call.added} −${call.removed ?? 0}` : null;
    // What failed is written out below.
    const isRepeated = call.message && call.state !== 'success' && call.outcome?.length > 30;
    const parts = [call.title, change, isRepeated ? null : call.outcome].filter((part) => part);
    fill(summary, parts.join(' · '));
    summary.title = parts.join(' · ').slice(0, 300);
    took.toggleAttribute('data-started', isOpen(call) && Boolean(call.started));
    if (isOpen(call) && call.started) took.dataset.started = call.started;
    took.ariaHidden = isOpen(call) || null;
    if (!isOpen(call)) setText(took, duration(call.duration_ms));
    setText(arrow, this.isExpanded ? '▾' : '▸');
  }

  #drawTail(call) {
    const lines = call.lines ?? (call.progress ? [call.progress] : []);
    this.#tail.hidden = call.state !== 'running' || lines.length === 0;
    if (!this.#tail.hidden) fill(this.#tail, lines.join('\n'));
  }

  /** Failures are never folded; a question always shows its button. */
  #drawProblem(call) {
    const isProblem = hasFailed(call) || call.state === 'cancelled';
    this.#problem.hidden = !isProblem && call.state !== 'waiting';
    if (call.state === 'waiting') return fill(this.#problem, this.#question(call));
    if (!isProblem) return undefined;
    const message = call.message ?? call.outcome ?? '';
    const [head] = message.split('\n', 1);
    const hasExcerpt = call.state === 'error' && call.result_html && call.result !== head && !this.isExpanded;
    // What is shown already keeps the focus of its buttons.
    if (this.#problemOf === call && this.#hadExcerpt === hasExcerpt) return undefined;
    [this.#problemOf, this.#hadExcerpt] = [call, hasExcerpt];
    return fill(
      this.#problem,
      h(
        'div',
        { class: `call-error ${call.state === 'cancelled' ? 'ask' : ''}` },
        h(
          'div',
          call.error_type && mono(call.error_type),
          call.state === 'denied' ? ' The model was told: ' : ' ',
          call.result_html ? head : message,
        ),
        hasExcerpt && renderedOutput(call.result_html),
      ),
      call.state === 'denied' && this.#why(call),
    );
  }

  #question(call) {
    const approval =
      store.approvals.get(call.approval) ??
      [...store.approvals.values()].find((open) => open.call_id === call.id && open.session === call.session);
    if (!approval) return muted('Waits for an approval.');
    const answer = button('Answer…', () => openApproval(approval.id), 'primary');
    return inRow(answer, h('span.countdown', { 'data-expires': approval.expires }), h('span.muted', approval.reason));
  }

  /** Why it was denied and what to change: from the call itself, or asked of the server once. */
  #why(call) {
    const explain = href('tools', call.tool, { tab: 'explain', arguments: JSON.stringify(call.arguments ?? {}) });
    const box = inStack(
      toChange(call.help, { advice: call.advice, call }),
      inRow(
        button('Why was it denied?', () => this.#showDecision()),
        linkButton('Explain and change…', explain),
      ),
    );
    // A card may be drawn again while the answer is on its way, so every drawing waits for it.
    if (!call.help) this.#askWhy(call).then((found) => found && box.prepend(toChange(found[0], { ...found[1], call })));
    return box;
  }

  #askWhy(call) {
    const key = this.#key;
    if (!advice.has(key)) {
      if (advice.size >= MOST_ADVICE) advice.delete(advice.keys().next().value);
      advice.set(
        key,
        whatToChange(call).catch(() => {
          advice.delete(key); // The reason is shown all the same, and the next drawing asks again.
          return null;
        }),
      );
    }
    return advice.get(key);
  }

  #showDecision() {
    openByUser.set(this.#key, true);
    this.#detailTab = 'decision';
    this.#detailOf = null;
    this.#draw();
  }

  #drawDetail(call) {
    const hadFocus = this.#detail?.contains(document.activeElement);
    const next = callDetail(call, {
      tab: this.#detailTab,
      onTab: (tab) => {
        this.#detailTab = tab;
      },
    });
    if (this.#detail) this.#detail.replaceWith(next);
    else this.#box.append(next);
    this.#detail = next;
    this.#detailOf = call;
    if (hadFocus) this.#line.focus();
  }
}

customElements.define('haft-call', CallCard);

async function whatToChange(call) {
  const question = { agent: call.agent, arguments: call.arguments ?? {} };
  const { verdict, to_change: text, advice: how } = await api.post(pathTo('tools', call.tool, '/explain'), question);
  if (verdict === 'deny') return [text, { advice: how }];
  const denied = 'Nothing forbids this call: an answer denied it. Ask for it again and allow it.';
  return [denied, verdict === 'ask' ? { advice: how, action: 'Allow it without a question…' } : {}];
}
