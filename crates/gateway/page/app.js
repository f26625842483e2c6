// Starts the page: sign in, then the frame and the place that the address names.

import { act, api, applyTheme, button, fill, h, isOwnSave, mono, mountNotices, prevent, startTicker, store, toast } from './core.js';
import { watchApprovals } from './elements/approval.js';
import './elements/shell.js';
import { listenToKeys } from './keys.js';

const shell = document.querySelector('haft-shell');

/** The one-time token of the link leaves the address before anything else happens. */
async function signInFromLink() {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, '', '/');
  try {
    await api.post('/api/login', { token: decodeURIComponent(match[1]) });
  } catch (error) {
    // What to do is said below.
    if (error.status === 401) throw Object.assign(error, { isFromLink: true, message: 'This link is used up or has expired.', help: '' });
    throw error;
  }
}

function showSignIn(error) {
  const input = h('input', { type: 'password', label: 'Token', autocomplete: 'off', placeholder: 'Token' });
  const onsubmit = (event) => {
    prevent(event);
    act(async () => {
      await api.post('/api/login', { token: input.value.trim() });
      location.reload();
    });
  };
  showError(
    error,
    h(
      'p',
      'Open the link that ',
      mono('haft serve'),
      ' printed; it works once. A page that is signed in (Connections) or a restart makes another. Or paste a token:',
    ),
    h('form.row', { onsubmit }, input, h('button.primary', 'Sign in')),
  );
}

function showError(error, ...rest) {
  const words = error && [h('p.call-error', { role: 'alert' }, error.message ?? String(error)), h('p', error.help)];
  fill(shell, h('main.empty', h('h1', 'Haft'), words, rest));
}

async function start() {
  applyTheme();
  mountNotices();
  startTicker();
  try {
    await signInFromLink();
    await store.start();
  } catch (error) {
    if ([401, 403, 429].includes(error.status)) showSignIn(error.isFromLink || error.status !== 401 ? error : null);
    else showUnreachable(error);
    return;
  }
  watchApprovals();
  shell.start();
  listenToKeys(shell);
  store.on(
    'connection',
    (state) => state === 'ended' && showSignIn({ message: 'This page is signed out.', help: 'Its token was revoked, or it has expired.' }),
  );
  store.on(
    'changed:settings',
    ({ wider = [], saved }) =>
      wider.length &&
      !isOwnSave(wider, saved) &&
      toast('The configuration has changed.', { fix: `These settings allow more now, or may: ${wider.join(', ')}.` }),
  );
  addEventListener('online', () => store.wake());
  document.addEventListener('visibilitychange', () => document.hidden || store.wake());
}

function showUnreachable(error) {
  showError(error, button('Try again', () => location.reload(), 'primary'));
}

start();
