// MCP servers, channels, nodes, providers of models, and the tokens of this server.

import {
  ago,
  api,
  badge,
  button,
  checkbox,
  checkLook,
  copyButton,
  duration,
  empty,
  fill,
  h,
  href,
  inRow,
  inStack,
  isAdmin,
  joined,
  load,
  mono,
  muted,
  openReview,
  page,
  pathTo,
  plural,
  small,
  sourceText,
  stateMark,
  store,
  table,
  warning,
} from '../core.js';
import { channelList, nodeList } from '../elements/reach.js';

const SCOPES = ['view', 'chat', 'approve', 'admin'];
const STATES = {
  up: 'ok',
  connected: 'ok',
  ready: 'ok',
  running: 'ok',
  failed: 'fail',
  error: 'fail',
  down: 'fail',
  untrusted: 'ask',
  waiting: 'ask',
};

export default function mount(root) {
  const body = page(root, 'Connections');
  const connections = inStack();
  const nodes = h('section.stack');
  const tokens = h('section.box');
  fill(body, connections, nodes, tokens);
  fill(newLink);
  const reload = load(connections, () => api.get('/api/connections'), draw);
  const again = load(
    tokens,
    () => (isAdmin() ? api.get('/api/tokens') : []),
    (list) => tokenList(list, again),
  );
  return { stops: [nodeList(nodes), store.on('changed:tokens', again), store.on('changed:tools', reload)] };
}

function draw({ servers, models, providers, ...reach }) {
  return [
    h('h2', 'MCP servers'),
    servers.length === 0
      ? empty(
          'No MCP server is configured. Its tools would be decided on by the same policy as the built-in ones.',
          'See the settings',
          href('settings', null, { text: 'mcp' }),
        )
      : h(
          'div.columns',
          servers.map((server) =>
            h(
              'section.box',
              { class: STATES[server.state] === 'fail' && 'fail' },
              inRow(h('strong.grow', server.server), badge(server.state, STATES[server.state]), badge(server.transport)),
              mono(server.what),
              small(`Tools: ${server.tools?.join(', ') ?? 'not known yet'}`),
              server.waiting > 0 && warning(`${plural(server.waiting, 'tool')} hidden until you approve.`),
              isAdmin() &&
                !['off', 'not trusted'].includes(server.state) &&
                button('Start and review its tools…', () => openReview(server.server)),
            ),
          ),
        ),
    h('h2', 'Models'),
    providers.length > 0 &&
      table(
        [
          ['Provider', (row) => h('strong', row.name)],
          ['Key', (row) => [!row.usable && badge('✗ no key', 'fail'), ' ', row.key, h('div.source', sourceText(row))]],
          ['', (row) => isAdmin() && trial(row)],
        ],
        providers,
        'Providers',
        { class: 'cards' },
      ),
    models.length
      ? inRow(
          models.map((model) => badge(model.name, model.name === store.me.model && 'accent')),
        )
      : muted('Only the demo model answers. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and start the server again.'),
    channelList(reach),
  ];
}

/** Asks a provider once, and shows what it said and how long it took. */
function trial({ name }) {
  const said = h('div', { role: 'status' });
  const test = async () => {
    const { ok, text, help, latency_ms: took } = await api.post(pathTo('providers', name, '/test'));
    const words = joined([duration(took), text]);
    fill(said, stateMark(checkLook(ok ? 'ok' : 'error'), true), ` ${words}`, help && h('div.fix', help));
  };
  return [button('Test', test, { label: `Test ${name}`, title: 'One cheap request to the provider' }), said];
}

/** The link that was made last, which is shown while the list is drawn again. */
const newLink = h('p', { role: 'status' });

function tokenList(list, again) {
  const name = h('input', { placeholder: 'phone', label: 'Name of the new token' });
  const boxes = SCOPES.filter((scope) => store.can(scope)).map((scope) =>
    checkbox({ value: scope, checked: scope === 'view' }),
  );
  const make = async () => {
    const scopes = boxes.filter((box) => box.checked).map((box) => box.value);
    const { link } = await api.post('/api/tokens', { name: name.value || 'page', scopes });
    again();
    fill(
      newLink,
      mono(link),
      ' ',
      copyButton(() => link, 'Copy', 'Copied the link'),
      ' Open it on the other device: it works once.',
    );
  };
  const revoke = (token) =>
    button(token.current ? 'Sign out' : 'Revoke', () => api.delete(pathTo('tokens', token.id)).then(again), 'danger');
  return [
    h('h2', 'Who is signed in'),
    table(
      [
        ['Name', (row) => `${row.name}${row.current ? ' (this page)' : ''}`],
        ['May', (row) => row.scopes.join(', ')],
        ['Used', (row) => (row.last_used ? ago(row.last_used) : 'never')],
        ['', revoke],
      ],
      list,
      'Tokens',
    ),
    inRow(
      h('strong', 'Another device: '),
      name,
      boxes.map((box) => h('label.check', box, box.value)),
      button('Make a link', make),
    ),
    newLink,
  ];
}
