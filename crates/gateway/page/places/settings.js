// The effective configuration: each value with the file and line that it comes from, what is wrong in the files, and what is trusted.

import {
  api,
  applyTheme,
  badge,
  button,
  checkbox,
  control,
  fill,
  h,
  inStack,
  isAdmin,
  joined,
  load,
  mono,
  muted,
  page,
  replace,
  select,
  sourceText,
  store,
  table,
  theme,
  when,
} from '../core.js';

const KINDS = { 'built-in': '', user: 'accent', project: 'ask', environment: 'ok', flag: 'ok' };

export default function mount(root, { query }) {
  const result = inStack();
  const search = h('input', {
    type: 'search',
    value: query.get('text') ?? '',
    oninput: () => {
      replace('settings', null, { text: search.value });
      draw();
    },
  });
  const onlySet = checkbox({ onchange: draw });
  const problems = inStack();
  const trusted = h('section.stack', { label: 'Trusted' });
  let answer = null;
  fill(
    page(root, 'Settings'),
    h(
      'div.filters',
      control('Search', search),
      h('label.check', onlySet, 'only what is set'),
      control('Look of this page', select([['system', 'as the system'], ['light'], ['dark']], theme(), applyTheme)),
    ),
    problems,
    trusted,
    h('h2', 'What holds'),
    result,
  );
  const trust = load(trusted, () => api.get('/api/trust'), trustList);
  const again = load(
    result,
    () => api.get('/api/settings'),
    (settings) => {
      answer = settings;
      queueMicrotask(draw);
      return [];
    },
  );
  const stop = store.on('changed:settings', () => {
    again();
    trust();
  });
  return { search, stops: [stop] };

  function draw() {
    if (!answer) return;
    const words = search.value.toLowerCase();
    const shown = answer.settings.filter(
      ({ key, value, source }) =>
        `${key} ${JSON.stringify(value)}`.toLowerCase().includes(words) && (!onlySet.checked || source.layer !== 'built-in'),
    );
    fill(
      problems,
      answer.problems.map((problem) =>
        h(
          'p.call-error',
          { role: 'alert' },
          joined(['✗', sourceText(problem), problem.message ?? String(problem), problem.help], ' '),
        ),
      ),
    );
    fill(
      result,
      muted(
        'Your file: ',
        mono(answer.file ?? 'none yet'),
        ` · ${shown.length} of ${answer.settings.length} settings. To change one, edit your file; `,
        mono('haft config check'),
        ' says whether it is right.',
      ),
      [...Map.groupBy(shown, groupOf)].map(([name, rows]) =>
        h('details', { open: true }, h('summary', `${name} (${rows.length})`), table(COLUMNS, rows, name, { class: 'cards' })),
      ),
    );
  }
}

/** The branch of the tree in which a key is. */
const groupOf = ({ key }) => (key.includes('.') ? key.split('.', 1)[0] : 'general');

const COLUMNS = [
  ['Key', (row) => mono(row.key)],
  ['Value', (row) => mono(row.value === null ? 'unset' : JSON.stringify(row.value))],
  ['From', source],
];

/** What was trusted once holds until what it is about changes, or until it is revoked. */
function trustList({ entries }) {
  const revoke = ({ kind, name }) =>
    button('Revoke', () => api.post('/api/trust/revoke', { kind, name }), { class: 'danger', label: `Revoke ${name}` });
  return [
    h('h2', 'What you trust'),
    entries.length
      ? table(
          [
            ['Kind', (row) => row.kind.replace('_', ' ')],
            ['Name', (row) => [mono(row.name), h('div.source', row.what)]],
            ['Since', (row) => when(row.since) || 'not recorded'],
            ['Fingerprint', (row) => mono({ title: row.fingerprint }, row.fingerprint.slice(0, 12))],
            ['', (row) => isAdmin() && revoke(row)],
          ],
          entries,
          'What you trust',
          { class: 'cards' },
        )
      : muted('No folder, plugin or MCP server is trusted. ', mono('haft trust'), ' lets a project start its hooks, servers and plugins.'),
  ];
}

function source({ source: from }) {
  return [badge(from.layer, KINDS[from.layer]), from.file && h('div.source', sourceText(from))];
}
