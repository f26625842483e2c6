// The frame: rail with sessions and places, connection state, the place itself.

import {
  button,
  dayName,
  empty,
  fill,
  h,
  href,
  joined,
  keepFocus,
  later,
  link,
  linkButton,
  LINKED_PLACES,
  menuButton,
  money,
  muted,
  onRoute,
  openPalette,
  PLACES,
  prevent,
  report,
  route,
  sessionLook,
  stateMark,
  store,
  toast,
} from '../core.js';
import { openApproval } from './approval.js';
import { sessionMenu } from './session-actions.js';

const CONNECTION = { live: ['ok', 'live'], connecting: ['ask', 'reconnecting…'], ended: ['fail', 'signed out'] };
const OFFLINE = 'No connection. The page reconnects by itself; nothing is lost. Is `haft serve` still running?';
const SHOWN_SESSIONS = 200;

class Shell extends HTMLElement {
  /** What is shown: the element of a place, and what its file returned. */
  place = null;
  #current;
  #rail;
  #sessionList;
  #live;
  #offline = h('div.offline', { hidden: true }, OFFLINE);
  #main;
  /** The message about the newest question. */
  #asking;
  #more;
  #drawSessionsSoon = later(() => this.#drawSessions(), 100);
  #drawOffline = later(() => (this.#offline.hidden = store.connection === 'live'), 1500);

  start() {
    this.#build();
    store.on('connection', () => this.#drawConnection());
    store.on('sessions', this.#drawSessionsSoon);
    store.on('approvals', (change) => this.#approvals(change));
    onRoute((to) => this.#show(to));
    this.#drawConnection();
    this.#drawSessions();
    this.#approvals({});
    this.#show(route());
  }

  #build() {
    const links = PLACES.map(([name, label, key]) => this.#link(name, key ? `${label} (g ${key})` : label, label));
    this.#sessionList = h('div.sessions', { role: 'navigation', label: 'Sessions' });
    this.#live = h('div.live', { role: 'status' });
    this.#rail = h(
      'div.rail',
      { id: 'rail' },
      h(
        'div.brand',
        link('Haft', href('chat'), { class: 'grow' }),
        button(h('kbd', 'Ctrl-K'), openPalette, { class: 'quiet', title: 'Find anything (Ctrl-K)' }),
      ),
      linkButton('+ New session', href('chat'), { class: 'primary', title: 'New session (Ctrl-Alt-N)', onclick: () => this.#newSession() }),
      this.#sessionList,
      h(
        'nav',
        { label: 'Places' },
        links.slice(0, 6),
        h('details', { open: innerHeight > 900 || innerWidth < 760 }, h('summary', 'More'), links.slice(6)),
      ),
      this.#live,
    );
    this.#main = h('main.place', { id: 'place', tabindex: -1 });
    const skip = (event) => {
      prevent(event);
      this.#main.focus();
    };
    fill(this, h('a.skip', { href: '#place', onclick: skip }, 'Skip to content'), this.#rail, this.#main, this.#bottomBar());
  }

  /** A link to a place; that to the inbox counts what waits. */
  #link(name, title, ...content) {
    return h('a', { href: href(name), 'data-place': name, title }, content, name === 'inbox' && h('span.badge.ask', { hidden: true }));
  }

  #bottomBar() {
    const icon = (sign) => h('span.icon', { ariaHidden: true }, sign);
    this.#more = button([icon('☰'), 'More'], () => this.#toggleRail(), { ariaExpanded: false, 'aria-controls': 'rail' });
    return h(
      'nav.bottom-bar',
      { label: 'Main places' },
      this.#link('chat', null, icon('◯'), 'Chat'),
      this.#link('inbox', null, icon('◐'), 'Inbox'),
      this.#link('history', null, icon('≡'), 'History'),
      this.#more,
    );
  }

  #toggleRail(isOpen = !this.#rail.classList.contains('open')) {
    this.#rail.classList.toggle('open', isOpen);
    this.#more.ariaExpanded = isOpen;
  }

  #newSession() {
    if (!route().id && route().place === 'chat') this.place?.search.focus();
  }

  async #show(to) {
    this.#toggleRail(false);
    this.#markCurrent(to);
    if (to.place === 'inbox') this.#asking?.remove();
    const isSame = this.#current?.place === to.place && this.place?.update?.(to);
    this.#current = to;
    if (isSame) return;
    this.place?.stops?.forEach((stop) => stop());
    this.place = null;
    const known = [...PLACES, ...LINKED_PLACES].find(([name]) => name === to.place);
    if (to.place !== 'chat') document.title = `${known?.[1] ?? 'Not found'} – Haft`;
    try {
      if (!known)
        return fill(this.#main, empty('There is no such place.', 'To the chat', href('chat')));
      const module = await import(`../places/${to.place}.js`);
      if (this.#current !== to) return undefined;
      const root = h('div.place.grow');
      fill(this.#main, this.#offline, root);
      this.place = module.default(root, to);
      // What had the focus is gone with the place before: Tab continues in this one.
      if (document.activeElement === document.body) this.#main.focus();
    } catch (error) {
      // A server of another version has other files.
      if (error instanceof TypeError && store.connection === 'live') error.help ??= 'Reload the page: the server may have been updated.';
      report(error);
    }
    return undefined;
  }

  #markCurrent(to) {
    for (const link of this.querySelectorAll('[data-place]')) {
      link.ariaCurrent = link.dataset.place === to.place ? 'page' : null;
    }
    const more = this.#rail.querySelector('details');
    if (more.querySelector('[aria-current]')) more.open = true;
    for (const line of this.#sessionList.querySelectorAll('.session-line')) line.classList.toggle('current', line.dataset.id === to.id);
  }

  #drawConnection() {
    const [kind, word] = CONNECTION[store.connection];
    fill(this.#live, h('span', { class: `dot ${kind}` }), h('span', word), h('span.muted', store.me?.version ?? ''));
    if (store.connection === 'live') this.#offline.hidden = true;
    // A short break is not worth a line that moves everything.
    else this.#drawOffline();
  }

  #drawSessions() {
    const all = [...store.sessions.values()].sort((a, b) => (a.updated < b.updated ? 1 : -1));
    const children = Map.groupBy(all, (each) => each.parent);
    const roots = all.filter((session) => !session.parent || !store.sessions.has(session.parent)).slice(0, SHOWN_SESSIONS);
    const nodes = [];
    let day = null;
    for (const session of roots) {
      if (dayName(session.updated) !== day) {
        day = dayName(session.updated);
        nodes.push(h('h3', day), h('ul'));
      }
      nodes.at(-1).append(this.#sessionItem(session, children));
    }
    keepFocus(this.#sessionList, () => fill(this.#sessionList, nodes.length ? nodes : muted('No sessions yet.')));
    this.#markCurrent(route());
  }

  #sessionItem(session, children, depth = 0) {
    const state = store.stateOf(session);
    const below = depth < 3 ? (children.get(session.id) ?? []) : [];
    const title = session.title || session.sub_agent || 'New session';
    const about = joined([session.usage.cost && money(session.usage.cost), session.last_line ?? title]);
    return h(
      'li',
      h(
        'div.session-line',
        { 'data-id': session.id },
        h(
          'a',
          { href: href('chat', session.id), title: about, 'data-focus': session.id },
          state !== 'idle' && [stateMark(sessionLook(state)), ' '],
          session.fork_of && '↳ ',
          title,
        ),
        menuButton('⋯', () => sessionMenu(session), { class: 'quiet', label: `Menu of ${title}` }),
      ),
      session.parent && h('small.summary', about),
      below.length > 0 &&
        h(
          'ul',
          below.map((child) => this.#sessionItem(child, children, depth + 1)),
        ),
    );
  }

  #approvals({ asked }) {
    const count = store.approvals.size;
    for (const badge of this.querySelectorAll('[data-place="inbox"] .badge')) {
      badge.hidden = count === 0;
      fill(badge, String(count), h('span.visually-hidden', ' waiting for you'));
    }
    const { place, id } = route();
    const isHere = asked && (place === 'inbox' || (place === 'chat' && id === asked.session));
    // A call of the user belongs to no session that is listed: who made it waits for it.
    const isOwn = asked && !store.sessions.has(asked.session) && !document.hidden && !document.querySelector('dialog[open]');
    // A newer question takes the place of the message about the one before; the inbox has all.
    if (asked || count === 0) this.#asking?.remove();
    if (isOwn) openApproval(asked.id);
    else if (asked && !isHere)
      this.#asking = toast(`${asked.agent} waits for your approval: ${asked.tool} ${asked.title ?? ''}`, {
        action: { label: 'Answer…', run: () => openApproval(asked.id) },
      });
  }
}

customElements.define('haft-shell', Shell);
