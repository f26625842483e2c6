// A choice of the models that are configured.

import { act, api, go, openMenu } from '../core.js';

const MOST = 40;

/** Calls `choose` with the name of the one that the user takes. */
export async function modelMenu(anchor, choose) {
  await act(null, async () => {
    const { models } = await api.get('/api/connections');
    const entries = models.slice(0, MOST).map(({ name }) => ({ label: name, run: () => choose(name) }));
    openMenu(anchor, [...entries, { label: 'More about models…', run: () => go('connections') }]);
  });
}
