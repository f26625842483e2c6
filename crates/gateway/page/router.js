// The address is the state: `#/history?tool=exec&status=error`.

import { withQuery } from './api.js';

/** The place, its id and its filters. */
export function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [place = '', ...rest] = path.split('/').map(decode);
  return { place: place || 'chat', id: rest.join('/') || null, query: new URLSearchParams(query) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place. Empty values of `query` are left out. */
export function href(place, id, query) {
  return withQuery(`#/${place}${id ? `/${encodeURIComponent(id)}` : ''}`, query);
}

export function go(place, id, query) {
  location.hash = href(place, id, query);
}

/** Changes the address without a new entry of the Back key. */
export function replace(place, id, query) {
  history.replaceState(null, '', href(place, id, query));
}

/** Calls `listener` with each new address. */
export function onRoute(listener) {
  addEventListener('hashchange', () => listener(route()));
}
