// MCP servers, channels, nodes, providers of models, and the tokens of this server.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, plural } from '../format.js';
import { act, copy } from '../notices.js';
import { openReview } from '../on-demand.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { empty, load, page, table } from '../elements/page.js';
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

export function mount(root) {
  const body = page(root, 'Connections');
  const connections = h('div.stack');
  const nodes = h('section.stack');
  const tokens = h('section.box');
  fill(body, connections, nodes, tokens);
  const reload = load(connections, () => api.get('/api/connections'), draw);
  const again = load(
    tokens,
    () => (store.can('admin') ? api.get('/api/tokens') : []),
    (list) => tokenList(list, () => again()),
  );
  const stops = [nodeList(nodes), store.on('changed:tokens', () => again()), store.on('changed:tools', () => reload())];
  return { unmount: () => stops.forEach((stop) => stop()) };
}

function draw({ servers, models, ...reach }) {
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
              'section',
              { class: `box ${STATES[server.state] === 'fail' ? 'fail' : ''}` },
              h(
                'div.row',
                h('strong.grow', server.server),
                h('span', { class: `badge ${STATES[server.state] ?? ''}` }, server.state),
                h('span.badge', server.transport),
              ),
              h('code', server.what),
              h('small', server.tools?.length ? `Tools: ${server.tools.join(', ')}` : 'No tools.'),
              server.waiting > 0 && h('p.call-error.ask', `! ${plural(server.waiting, 'tool')} hidden until you approve.`),
              store.can('admin') && !['off', 'not trusted'].includes(server.state) && reviewButton(server.server),
            ),
          ),
        ),
    h('h2', 'Models'),
    models.length
      ? h(
          'div.row',
          models.map((model) => h('span', { class: `badge ${model.name === store.me.model ? 'accent' : ''}` }, model.name)),
        )
      : h('p.muted', 'Only the demo model answers. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and start the server again.'),
    channelList(reach),
  ];
}

function reviewButton(name) {
  const button = h('button', { onclick: () => act(button, () => openReview(name)) }, 'Start and review its tools…');
  return h('div', button);
}

function tokenList(list, again) {
  const name = h('input', { placeholder: 'phone', 'aria-label': 'Name of the new token' });
  const boxes = SCOPES.filter((scope) => store.can(scope)).map((scope) =>
    h('label.check', h('input', { type: 'checkbox', value: scope, checked: scope === 'view' }), scope),
  );
  const link = h('p', { role: 'status' });
  const make = h(
    'button',
    {
      onclick: () =>
        act(make, async () => {
          const scopes = boxes
            .map((label) => label.firstChild)
            .filter((box) => box.checked)
            .map((box) => box.value);
          const answer = await api.post('/api/tokens', { name: name.value || 'page', scopes });
          again();
          document
            .querySelector('#new-link')
            ?.replaceChildren(
              h('code', answer.link),
              ' ',
              h('button', { onclick: () => copy(answer.link, 'Copied the link') }, 'Copy'),
              ' It works once and is not shown again.',
            );
        }),
    },
    'Make a link',
  );
  link.id = 'new-link';
  const revoke = (token) => {
    const button = h(
      'button.danger',
      {
        onclick: () =>
          act(button, async () => {
            await api.delete(`/api/tokens/${encodeURIComponent(token.id)}`);
            again();
          }),
      },
      token.current ? 'Sign out' : 'Revoke',
    );
    return button;
  };
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
    h('div.row', h('strong', 'Another device: '), name, boxes, make),
    document.querySelector('#new-link') ?? link,
  ];
}
