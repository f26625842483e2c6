// The head of a conversation: title, state, agent, model, access, menu.

import { accessMenu, fill, h, href, modelMenu, openMenu, sessionLook, store, toast } from '../core.js';
import { renameSession, sessionMenu } from './session-actions.js';

export function chatHeader(place) {
  const element = h('header.place-head');
  return { element, update };

  function modelButton(session) {
    const name = place.nextModel ?? session?.model ?? store.me?.model ?? '';
    const title = store.me?.model_reason ?? '';
    if (!store.can('chat')) return h('span.badge', { title }, name);
    const choose = (chosen) => {
      place.nextModel = chosen;
      toast(`The next message goes to ${chosen}.`, {});
      update();
    };
    return h('button', { title, 'aria-haspopup': 'menu', onclick: (event) => modelMenu(event.currentTarget, choose) }, `${name} ▾`);
  }

  function accessButton(session, access) {
    if (!session || !store.can('chat'))
      return h('a.button', { href: href('settings', null, { text: 'access' }), title: 'Where this comes from' }, `access: ${access}`);
    const open = (event) => accessMenu(event.currentTarget, session, access);
    return h(
      'button',
      { title: 'What this session may reach: lower or raise it', 'aria-haspopup': 'menu', onclick: open },
      `access: ${access} ▾`,
    );
  }

  function update() {
    const { session } = place;
    const state = store.stateOf(session);
    const { icon, word, kind } = sessionLook(state);
    const access = session?.access ?? store.me?.access;
    const agent = session?.agent ?? store.me?.agent;
    fill(
      element,
      h(
        'h1',
        session
          ? h('button.quiet', { title: 'Rename this session', onclick: () => renameSession(session) }, session.title || 'New session')
          : 'New session',
      ),
      session && state !== 'idle' && h('span', { class: `badge ${kind}`, role: 'status' }, `${icon} ${word}`),
      h('a.button', { href: href('agents', agent), title: 'The agent of this session: choose its tools' }, `agent: ${agent}`),
      modelButton(session),
      access && accessButton(session, access),
      place.transcript?.items.some((item) => item.type === 'call' && item.call?.tool === 'browser') &&
        h('a.button', { href: href('browser', session?.id), title: 'Watch the browser of this session, or take it over' }, 'Browser'),
      session &&
        h(
          'button',
          { title: 'To-do list, files and sub-agents ([)', 'aria-pressed': String(place.isPanelShown), onclick: () => place.togglePanel() },
          'Panel',
        ),
      session &&
        h(
          'button',
          {
            'aria-label': 'Menu of this session',
            'aria-haspopup': 'menu',
            onclick: (event) => openMenu(event.currentTarget, sessionMenu(session)),
          },
          '⋯',
        ),
    );
  }
}
