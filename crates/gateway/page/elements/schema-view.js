// A schema as we hold it beside the schema as a provider gets it; what is left out is struck through.

import { api, badge, h, insertRendered, inStack, load, pathTo, renderedOutput, select } from '../core.js';

const PROVIDERS = ['anthropic', 'openai', 'openai-responses', 'gemini'];

export function schemaTab(tool, agent) {
  const sent = h('div');
  const ours = h('div.output.rendered', { tabindex: 0 });
  const show = (provider) =>
    load(
      sent,
      () => api.get(pathTo('tools', tool.name), { agent, provider }),
      ({ projected, parameters_html: html }) => {
        insertRendered(ours, html);
        return [projected.strict && badge('strict'), renderedOutput(projected.html)];
      },
    );
  show(PROVIDERS[0]);
  return h(
    'div.columns',
    inStack(h('h3', 'Canonical'), ours),
    inStack(
      h('h3', 'As sent to'),
      select(
        PROVIDERS.map((name) => [name]),
        PROVIDERS[0],
        show,
        { label: 'Provider' },
      ),
      sent,
    ),
  );
}
