// The rows of a conversation: messages, cards of calls, ends of turns.

import {
  badge,
  button,
  copy,
  duration,
  fill,
  fullTime,
  go,
  h,
  insertRendered,
  isOpen,
  joined,
  menuButton,
  money,
  plural,
  rendered,
  setText,
  time,
  tokens,
} from '../core.js';
import './call.js';

const FOLD_FROM = 6;

/** Items as rows: long runs of successful calls that are over become one row. */
export function rowsOf(items, unfolded) {
  const rows = [];
  let run = [];
  const flush = (isOver) => {
    const done = run.filter((item) => item.call.state === 'success');
    const key = run[0] && `fold:${run[0].id}`;
    if (isOver && done.length >= FOLD_FROM) {
      rows.push({ id: key, type: 'fold', count: run.length, failed: run.length - done.length, isUnfolded: unfolded.has(key) });
      rows.push(...(unfolded.has(key) ? run : run.filter((item) => item.call.state !== 'success')));
    } else {
      rows.push(...run);
    }
    run = [];
  };
  for (const item of items) {
    if (item.type === 'call') run.push(item);
    else {
      flush(true);
      rows.push(item);
    }
  }
  flush(false);
  return rows;
}

/** Marks rows of calls that follow another one of the same response, as they share a frame; `changed` gets each row that is drawn again. */
export function joinResponses(rows, changed) {
  rows.forEach((row, at) => {
    const isJoined = Boolean(row.response) && row.response === rows[at - 1]?.response;
    if (isJoined !== (row.isJoined ?? false)) changed(row.id);
    row.isJoined = isJoined;
  });
}

const ESTIMATES = { call: 44, turn_end: 32, notice: 32, fold: 40, thinking: 32 };
export const estimate = (row) => ESTIMATES[row.type] ?? 56 + Math.min(400, (row.text?.length ?? 0) / 4);

/** Makes a row, or brings `row` up to date. `actions` are what the place can do with it. */
export function renderRow(item, row, actions) {
  const element = row ?? h('div');
  const draw = DRAW[item.type] ?? DRAW.notice;
  element.className = `virtual-row ${draw(element, item, actions)}`;
  return element;
}

/** Each fills its row, and returns the classes of it. */
const DRAW = {
  user(element, item, actions) {
    const menu = menuButton('⋯', () => actions.messageMenu(item), { class: 'quiet', label: 'Menu of this message' });
    fill(
      element,
      h(
        'div.who',
        h('span', 'You'),
        item.queued && badge('queued'),
        h('time', { title: fullTime(item.at) }, time(item.at)),
        menu,
      ),
      h('div.bubble', item.text),
    );
    return `message user ${item.queued ? 'queued' : ''}`;
  },
  assistant(element, item) {
    if (!element.blocks) {
      element.body = h('div.rendered');
      element.blocks = [];
      element.when = h('time');
      const entries = () => [
        { label: 'Copy', run: () => copy(element.item.text) },
        element.item.usage && { label: used(element.item.usage), run: () => go('usage') },
      ];
      const menu = menuButton('⋯', entries, { class: 'quiet', label: 'Menu of this answer' });
      fill(element, h('div.who', h('span', 'Haft'), element.when, menu), element.body);
    }
    element.item = item;
    setText(element.when, time(item.at));
    drawBlocks(element, item.blocks ?? []);
    if (!item.blocks?.length && item.text) setText(element.body, item.text);
    return `message assistant ${item.streaming ? 'streaming' : ''}`;
  },
  thinking(element, item) {
    if (!element.body) {
      element.body = h('div.tail');
      fill(element, h('details', h('summary', 'Thinking'), element.body));
    }
    setText(element.body, item.text ?? '');
    return 'message notice';
  },
  call(element, item) {
    if (!element.card) {
      element.card = h('haft-call');
      fill(element, element.card);
    }
    element.card.call = item.call;
    return item.isJoined ? 'joined' : '';
  },
  fold(element, item, actions) {
    const text = `${item.isUnfolded ? '▾' : '▸'} ${plural(item.count, 'call')} done${item.failed ? ` · ${item.failed} not successful ✗` : ' ✓'}`;
    fill(
      element,
      h(
        'haft-call-group',
        button(text, () => actions.toggleFold(item.id), { class: 'fold', ariaExpanded: item.isUnfolded }),
      ),
    );
    return '';
  },
  notice(element, item) {
    fill(element, h('p', item.level === 'warning' && h('span.state.ask', '! '), item.text));
    return 'message notice';
  },
  summary(element, item) {
    fill(element, h('details', h('summary', 'Earlier messages were summarised'), rendered(item.html)));
    return 'message notice';
  },
  message(element, item) {
    fill(element, h('div.who', h('span', 'Haft'), h('span.badge.accent', `message · ${item.level ?? 'info'}`)), rendered(item.html));
    return 'message assistant';
  },
  turn_end(element, item) {
    const hasFailed = item.error || !['done', 'cancelled'].includes(item.reason);
    const figures = joined([used(item), plural(item.calls ?? 0, 'call'), duration(item.duration_ms)]);
    fill(
      element,
      hasFailed && h('div.bubble', { role: 'alert' }, h('span.state.fail', `✗ ${REASONS[item.reason] ?? item.reason} `), item.error ?? ''),
      h('p.tools-line', item.reason === 'cancelled' && h('span.state.ask', '■ stopped · '), figures),
    );
    return `message ${hasFailed ? 'error' : 'notice'}`;
  },
};

/** Tokens and cost. The demo model counts nothing, and a price of nothing is not unknown. */
const used = ({ input_tokens: input, output_tokens: output, cached_tokens: cached, cost }) =>
  (input || output) && `↑ ${tokens(input)}${cached ? ` (${tokens(cached)} cached)` : ''} ↓ ${tokens(output)} tokens · ${money(cost)}`;

const REASONS = {
  max_tokens: 'The answer was cut at the limit of the model.',
  refused: 'The model refused.',
  loop: 'Stopped: the same call again and again.',
  max_rounds: 'Stopped: too many rounds.',
  budget: 'Stopped: the budget is used up.',
  no_output: 'The model did not give the wanted output.',
  failed: 'The turn failed.',
};

/** Replaces only the blocks that changed, so that finished text is never drawn again. */
function drawBlocks(element, blocks) {
  const { body, blocks: shown } = element;
  if (shown.length > blocks.length) {
    body.replaceChildren();
    shown.length = 0;
  }
  blocks.forEach((html, index) => {
    if (shown[index] === html) return;
    if (!body.children[index]) body.append(h('div'));
    insertRendered(body.children[index], html ?? '');
    shown[index] = html;
  });
}

/** What a screen reader is told of a new or finished item; nothing while it grows. */
export function announcement({ item, name, before, ended }) {
  if (ended) return ended.text;
  if (item.type === 'assistant' && name === 'item' && !item.streaming) return item.text;
  if (item.type === 'call' && name === 'call' && before?.state !== item.call.state && !isOpen(item.call))
    return `${item.call.tool} ${item.call.state} ${item.call.outcome ?? ''}`;
  return item.type === 'turn_end' && item.error ? item.error : null;
}
