// A schema as we hold it beside the schema as a provider gets it; what is left out is struck through.

import { api, fill, h, load, pathTo, select } from '../core.js';

const PROVIDERS = ['anthropic', 'openai', 'openai-responses', 'gemini'];

export function schemaTab(tool, agent) {
  const sent = h('div');
  const ours = h('pre.output');
  const show = (provider) =>
    load(
      sent,
      () => api.get(pathTo('tools', tool.name), { agent, provider }),
      ({ projected }) => {
        const schema = projected.parameters ?? projected;
        fill(ours, ...marked(tool.parameters, schema));
        return [projected.strict && h('span.badge', 'strict'), h('pre.output', JSON.stringify(schema, null, 2))];
      },
    );
  show(PROVIDERS[0]);
  return h(
    'div.columns',
    h('div.stack', h('h3', 'Canonical'), ours),
    h(
      'div.stack',
      h('h3', 'As sent to'),
      select(
        PROVIDERS.map((name) => [name]),
        PROVIDERS[0],
        show,
        { ariaLabel: 'Provider' },
      ),
      sent,
    ),
  );
}

/** Lines of JSON; keys that the other side lacks are marked as deleted. */
function marked(value, other, indent = '', label = '', comma = '') {
  const isObject = value !== null && typeof value === 'object';
  if (!isObject) return [`${indent}${label}${JSON.stringify(value)}${comma}\n`];
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const lines = entries.flatMap(([key, child], index) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `;
    const end = index < entries.length - 1 ? ',' : '';
    const parts = marked(child, other?.[key], `${indent}  `, name, end);
    return other !== undefined && other !== null && typeof other === 'object' && !(key in other) ? [h('del', parts)] : parts;
  });
  return [`${indent}${label}${isList ? '[' : '{'}\n`, ...lines, `${indent}${isList ? ']' : '}'}${comma}\n`];
}
