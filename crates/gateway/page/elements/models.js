// A choice of the models that are configured.

import { api, go, openMenu } from '../core.js';

const MOST = 40;

/** Calls `choose` with the name of the one that the user takes. */
export default async function modelMenu(anchor, choose) {
  const { models } = await api.get('/api/connections');
  const entries = models.slice(0, MOST).map(({ name }) => ({ label: name, run: () => choose(name) }));
  openMenu(anchor, [...entries, { label: 'More about models…', run: () => go('connections') }]);
}
