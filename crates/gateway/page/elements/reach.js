// Whom this server reaches: channels with what was sent, and paired machines.

import {
  api,
  badge,
  button,
  copyButton,
  deliveryBadge,
  empty,
  fill,
  h,
  href,
  inRow,
  isAdmin,
  load,
  mono,
  muted,
  pathTo,
  store,
  table,
  toast,
  warning,
  when,
} from '../core.js';

/** Channels, and the newest messages that went out. */
export function channelList({ channels = [], sent = [] }) {
  const state = (row) => (row.usable ? row.actions.join(', ') : badge(row.fault, 'fail'));
  const takes = (row) => (row.receives ? `yes, of ${row.allowed_senders} listed and of paired senders` : 'no');
  return [
    h('h2', 'Channels'),
    channels.length === 0
      ? empty(
          'No channel is configured. By one, such as Slack or mail, the agent sends and answers messages.',
          'See the settings',
          href('settings', null, { text: 'channels' }),
        )
      : table(
          [
            ['Channel', (row) => h('strong', row.name)],
            ['Kind', (row) => row.kind],
            ['Can', state],
            ['Takes messages', takes],
          ],
          channels,
          'Channels',
        ),
    sent.length > 0 && [
      h('h3', 'Sent'),
      table(
        [
          ['When', (row) => when(row.at)],
          ['Channel', (row) => row.channel],
          ['To', (row) => row.to],
          ['Outcome', (row) => deliveryBadge(row.outcome)],
          ['Text or reason', (row) => row.reason ?? row.text],
        ],
        sent,
        'Messages that were sent',
      ),
    ],
  ];
}

/** Paired machines, those that ask, and pairing itself; returns what stops it. */
export function nodeList(section) {
  const reload = load(section, () => api.get('/api/nodes'), draw);
  const address = h('p', { role: 'status' });
  let timer = null;
  let code = null;
  const settle = () => {
    clearInterval(timer);
    timer = null;
    fill(address);
  };

  function draw({ nodes, pending }) {
    return [
      h('h2', 'Nodes'),
      nodes.length === 0
        ? muted('No machine is paired. One that is runs commands and reads files for the agent, under its own policy.')
        : table(
            [
              ['Machine', (row) => h('strong', row.name)],
              ['State', (row) => badge(row.connected ? 'connected' : 'not connected', row.connected && 'ok')],
              ['System', (row) => row.platform ?? ''],
              ['Folder', (row) => mono(row.workspace ?? '')],
              ['Offers', (row) => (row.actions ?? []).join(', ')],
              ['', (row) => isAdmin() && reloading('Revoke', () => api.delete(pathTo('nodes', row.id)), 'danger')],
            ],
            nodes,
            'Nodes',
          ),
      pending.length > 0 &&
        warning(`${pending.map((each) => each.name).join(', ')}: asks to be paired. Type the code that it shows.`),
      isAdmin() && pairing(pending),
    ];
  }

  function reloading(label, action, kind) {
    return button(label, () => action().then(reload), kind);
  }

  function pairing(pending) {
    code ??= h('input', { label: 'Code on the other screen', placeholder: '1234-5678', size: 12 });
    const approve = async () => {
      const node = await api.post('/api/nodes/approve', { code: code.value.trim() });
      settle();
      toast(`${node.name} is paired.`, { kind: 'ok' });
    };
    const open = async () => {
      const { command } = await api.post('/api/nodes/pair', {});
      timer ??= setInterval(() => document.hidden || document.activeElement === code || reload(), 3000);
      fill(
        address,
        'Run this on the other machine within 10 minutes: ',
        mono(command),
        ' ',
        copyButton(() => command),
      );
    };
    return [
      inRow(reloading('Pair a machine…', open), (pending.length > 0 || address.hasChildNodes()) && [code, reloading('Approve', approve)]),
      address,
    ];
  }
  const stop = store.on('changed:nodes', reload);
  return () => {
    settle();
    stop();
  };
}
