// Requests to the server. Every failure is an ApiError with what to do next.

import { setClockSkew } from './ticker.js';

export class ApiError extends Error {
  constructor(status, type, message, help) {
    super(message);
    this.status = status;
    this.type = type;
    this.help = help;
  }
}

const signedOut = new Set();

/** Called when the server no longer accepts this page's token. */
export function onSignedOut(listener) {
  signedOut.add(listener);
}

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
    });
  } catch {
    throw new ApiError(0, 'offline', 'The server does not answer.', 'Is `haft serve` still running? The page reconnects by itself.');
  }
  if (response.headers.has('date')) setClockSkew(response.headers.get('date'));
  const answer = await readJson(response);
  if (response.ok) return answer;
  const isSignIn = path === '/api/login';
  if (response.status === 401 && !isSignIn) signedOut.forEach((listener) => listener());
  throw new ApiError(
    response.status,
    answer?.error_type ?? 'internal',
    answer?.message ?? `The server answered ${response.status}.`,
    answer?.help ?? '',
  );
}

async function readJson(response) {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/** A path with its parameters; empty ones are left out. */
export function withQuery(path, query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, value);
  }
  return search.size ? `${path}?${search}` : path;
}

const enc = encodeURIComponent;

export const api = {
  get: (path, query) => request('GET', withQuery(path, query)),
  post: (path, body = {}) => request('POST', path, body),
  put: (path, body) => request('PUT', path, body),
  patch: (path, body) => request('PATCH', path, body),
  delete: (path) => request('DELETE', path),
  session: (id, rest = '') => `/api/sessions/${enc(id)}${rest}`,
  tool: (name, rest = '') => `/api/tools/${enc(name)}${rest}`,
  changes: (id, rest = '') => `/api/changes/${enc(id)}${rest}`,
  record: (id, rest = '') => `/api/history/${enc(id)}${rest}`,
  agent: (name, rest = '') => `/api/agents/${enc(name)}${rest}`,
};
