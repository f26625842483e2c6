// The head of a conversation: title, agent, model, access, menu.

import { api, ApiError } from '../api.js';
import { fill, h } from '../dom.js';
import { act, toast } from '../notices.js';
import { href } from '../router.js';
import { sessionLook } from '../states.js';
import { store } from '../store.js';
import { dialog } from './dialog.js';
import { openMenu } from './menu.js';
import { renameSession } from './session-actions.js';

const LEVELS = ['read-only', 'workspace-write', 'full-access'];
const OPENS = {
  'workspace-write': 'The agent may change files in the workspace and run commands in the sandbox.',
  'full-access': 'The agent may reach everything that you can: other folders, the network, programs outside the sandbox. Your rules still apply.',
};

export function chatHeader(place) {
  const element = h('header.place-head');
  return { element, update };

  function update() {
    const session = place.session;
    const { icon, word, kind } = sessionLook(session?.state ?? 'idle');
    const access = session?.access ?? place.newSession?.access ?? store.me?.access;
    fill(element,
      h('h1.grow', session ? h('button.quiet', { title: 'Rename this session', 'aria-label': `Rename: ${session.title || 'New session'}`, onclick: () => renameSession(session) }, session.title || 'New session') : 'New session'),
      session && session.state !== 'idle' && h('span', { class: `badge ${kind}`, role: 'status' }, `${icon} ${word}`),
      h('a.button', { href: href('agents', session?.agent ?? store.me?.agent), title: 'The agent of this session' }, `agent: ${session?.agent ?? store.me?.agent}`),
      h('span.badge', { title: store.me?.model_reason ?? '' }, session?.model ?? store.me?.model ?? ''),
      h('button', { title: 'Access of this session', 'aria-haspopup': 'menu', onclick: (event) => openMenu(event.currentTarget, accessMenu(access)) }, `access: ${access ?? 'unknown'}`),
      session && h('button', { title: 'To-do list, files and sub-agents ([)', 'aria-pressed': String(place.isPanelShown), onclick: () => place.togglePanel() }, 'Panel'),
      session && h('button', { 'aria-label': 'Menu of this session', 'aria-haspopup': 'menu', onclick: (event) => openMenu(event.currentTarget, place.menu) }, '⋯'));
  }

  function accessMenu(current) {
    const levels = LEVELS.map((level) => ({ label: `${level === current ? '● ' : ''}${level}`, run: () => choose(level, current) }));
    return [...levels, { label: 'Ask before each change', run: () => set({ ask: 'changes' }) }];
  }

  function choose(level, current) {
    if (LEVELS.indexOf(level) <= LEVELS.indexOf(current)) return set({ access: level });
    const raise = h('button.primary', { onclick: () => { box.close(); set({ access: level }); } }, `Raise to ${level}`);
    const box = dialog(`Raise access to ${level}?`, [h('p', OPENS[level])], [raise]);
    return undefined;
  }

  function set(options) {
    if (!place.session) {
      place.newSession = { ...place.newSession, ...options };
      toast(`The new session starts with ${Object.values(options).join(', ')}.`, {});
      update();
      return;
    }
    act(null, async () => {
      try {
        store.putSession(await api.patch(api.session(place.id), options));
      } catch (error) {
        throw error.status === 400 ? new ApiError(400, error.type, 'The access of a running session cannot be changed here.', `Start \`haft serve --access ${options.access ?? 'read-only'}\`, or set it in your configuration file.`) : error;
      }
      toast(options.access ? `Access of this session: ${options.access}.` : 'This session now asks before each change.', { kind: 'ok' });
    });
  }
}
