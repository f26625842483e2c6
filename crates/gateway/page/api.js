// Requests to the server. Every failure is an ApiError with what to do next.

import { setClockSkew } from './ticker.js';

class ApiError extends Error {
  constructor(status, { error_type: type = 'internal', message = `The server answered ${status}.`, help = '' }) {
    super(message);
    Object.assign(this, { status, type, help });
  }
}

let signedOut = () => {};

/** Called when the server no longer accepts this page's token. */
export function onSignedOut(listener) {
  signedOut = listener;
}

/** What follows from a save may arrive this long after it. */
const SAVE_ECHO = 5000;
let quietUntil = 0;

/** Whether this page saved these settings a moment ago, or a rule: its user need not be told. */
export const isOwnSave = (keys, saved) => Date.now() < quietUntil && (saved || `${keys}` === 'rules.allow');

async function request(method, path, body) {
  // Turns and answers save nothing by themselves, except a rule.
  if (method !== 'GET' && (!/sessions|approvals/.test(path) || body?.answer === 'always')) quietUntil = Date.now() + SAVE_ECHO;
  let response;
  try {
    const headers = body && { 'content-type': 'application/json' };
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: 'no-store' });
  } catch {
    const help = 'Is `haft serve` still running? The page reconnects by itself.';
    throw new ApiError(0, { error_type: 'offline', message: 'The server does not answer.', help });
  }
  if (response.headers.has('date')) setClockSkew(response.headers.get('date'));
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  if (response.status === 401 && path !== '/api/login') signedOut();
  throw new ApiError(response.status, answer ?? {});
}

/** A path with its parameters; empty ones are left out. */
export function withQuery(path, query = {}) {
  const search = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => (value ?? '') !== ''));
  return search.size ? `${path}?${search}` : path;
}

export const api = {
  get: (path, query) => request('GET', withQuery(path, query)),
  post: (path, body = {}) => request('POST', path, body),
  put: (path, body) => request('PUT', path, body),
  patch: (path, body) => request('PATCH', path, body),
  delete: (path) => request('DELETE', path),
};

/** The address of one of `things`: `pathTo('sessions', id, '/items')`. */
export const pathTo = (things, id, rest = '') => `/api/${things}/${encodeURIComponent(id)}${rest}`;
/** The address of a session, or of something in it. */
export const sessionPath = (id, rest) => pathTo('sessions', id, rest);
