// The address is the state: `#/history?tool=exec&status=error`.

const listeners = new Set();

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
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, value);
  }
  const tail = search.size ? `?${search}` : '';
  return `#/${place}${id ? `/${encodeURIComponent(id)}` : ''}${tail}`;
}

export function go(place, id, query) {
  location.hash = href(place, id, query);
}

/** Changes the address without a new entry of the Back key. */
export function replace(place, id, query) {
  history.replaceState(null, '', href(place, id, query));
}

export function onRoute(listener) {
  listeners.add(listener);
}

addEventListener('hashchange', () => listeners.forEach((listener) => listener(route())));
