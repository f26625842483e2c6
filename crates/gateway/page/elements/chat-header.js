// The head of a conversation: title, state, agent, model, access, menu.

import { accessMenu, agentSelect, badge, button, fill, h, href, linkButton, menuButton, modelMenu, sessionLook, store, toast } from '../core.js';
import { renameSession, sessionMenu } from './session-actions.js';

/** `place` is the conversation: what it shows, and what its head can do with it. */
export function chatHeader({ getSession, getModel, setModel, getAgent, setAgent, isPanelShown, togglePanel, usesBrowser }) {
  const element = h('header.place-head');
  return { element, update };

  function modelButton(session) {
    const name = getModel() ?? session?.model ?? store.me?.model ?? '';
    const title = store.me?.model_reason ?? '';
    if (!store.can('chat')) return h('span.badge', { title }, name);
    const choose = (chosen) => {
      setModel(chosen);
      toast(`The next message goes to ${chosen}.`);
      update();
    };
    return button(`${name} ▾`, (anchor) => modelMenu(anchor, choose), { title, ariaHasPopup: 'menu' });
  }

  function accessButton(session, access) {
    if (!session || !store.can('chat'))
      return linkButton(`access: ${access}`, href('settings', null, { text: 'access' }), { title: 'Where this comes from' });
    const attributes = { title: 'What this session may reach: lower or raise it', ariaHasPopup: 'menu' };
    return button(`access: ${access} ▾`, (anchor) => accessMenu(anchor, session, access), attributes);
  }

  function update() {
    const session = getSession();
    const state = store.stateOf(session);
    const access = session?.access ?? store.me?.access;
    const agent = session?.agent ?? getAgent() ?? store.me?.agent;
    const isChosen = !session && store.can('chat') && store.me?.agents?.length > 1;
    fill(
      element,
      h(
        'h1',
        session
          ? button(session.title || 'New session', () => renameSession(session), { class: 'quiet', title: 'Rename this session' })
          : 'New session',
      ),
      session && state !== 'idle' && badge(sessionLook(state), '', { role: 'status' }),
      isChosen
        ? agentSelect(agent, setAgent)
        : linkButton(`agent: ${agent}`, href('agents', agent), { title: 'The agent of this session: choose its tools' }),
      modelButton(session),
      access && accessButton(session, access),
      usesBrowser() && linkButton('Browser', href('browser', session.id), { title: 'Watch the browser of this session, or take it over' }),
      session && [
        button('Panel', () => togglePanel(), { title: 'To-do list, sub-agents, files and trace (])', ariaPressed: isPanelShown() }),
        menuButton('⋯', () => sessionMenu(session), { label: 'Menu of this session' }),
      ],
    );
  }
}
