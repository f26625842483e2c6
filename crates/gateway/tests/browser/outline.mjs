// An accessibility tree as text that does not change from run to run.

const SILENT = new Set([
  'none',
  'generic',
  'InlineTextBox',
  'LineBreak',
  'Section',
  'ListMarker',
  'paragraph',
  'LabelText',
  'StaticText',
  'strong',
  'emphasis',
  'time',
  'code',
]);
const CHANGING = [
  [/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?/g, 'INSTANT'],
  [/\b[A-Z][a-z]{2} \d\d?, \d{4}\b/g, 'DATE'],
  [/127\.0\.0\.1:\d+/g, 'HOST'],
  [/\b\d\d?:\d\d(:\d\d)?( [AP]M)?/g, 'TIME'],
  [/\b[\d.,]+ (ms|s|min|h)\b/g, 'DURATION'],
  [/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID'],
  [/(\/tmp|\/var)\/[^\s'"]*haft-[^\s'"/]*/g, 'WORKSPACE'],
  [/[↑↓] [\d.]+k?( \([\d.]+k? cached\))?/g, 'TOKENS'],
  [/\d+ %/g, 'SHARE'],
  [/\bpid \d+/g, 'pid NUMBER'],
  [/[\d.]+ [kMG]B\b/g, 'SIZE'],
  [/\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d\b/g, 'DATE'],
  [/\b\d\d-\d\d\b/g, 'DAY'],
  [/\b\d+ (?=not offered|by its own)/g, 'COUNT '],
  [/\bof \d+ settings/g, 'of COUNT settings'],
];

/** Lines of `role "name" [states]`, indented by depth; of the part with this role and name, if one is given. */
export function outline(nodes, part = null) {
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const lines = [];
  const walk = (node, depth) => {
    if (!node) return;
    const role = node.role?.value ?? '';
    const isSilent = node.ignored || SILENT.has(role);
    const isText = !node.ignored && role === 'StaticText';
    if (!isSilent || isText) lines.push(`${'  '.repeat(depth)}${isText ? 'text' : role}${label(node)}${states(node)}`);
    for (const child of node.childIds ?? []) walk(byId.get(child), depth + (isSilent ? 0 : 1));
  };
  walk(
    nodes.find((node) => (part ? node.role?.value === part.role && node.name?.value === part.name : !node.parentId)),
    0,
  );
  return `${withoutEcho(lines).join('\n')}\n`;
}

function label(node) {
  const name = stable(node.name?.value ?? '');
  return name ? ` ${JSON.stringify(name)}` : '';
}

export function stable(text) {
  return CHANGING.reduce((changed, [pattern, word]) => changed.replace(pattern, word), text);
}

function states(node) {
  const shown = ['expanded', 'checked', 'selected', 'pressed', 'disabled', 'invalid', 'required', 'modal'];
  const parts = (node.properties ?? [])
    .filter(({ name, value }) => shown.includes(name) && value.value !== false && value.value !== 'false')
    .map(({ name, value }) => (value.value === true || value.value === 'true' ? name : `${name}=${value.value}`));
  return parts.length ? ` [${parts.join(', ')}]` : '';
}

/** Text that only repeats the name of the line above says nothing new. */
function withoutEcho(lines) {
  return lines.filter(
    (line, at) => !(line.trimStart().startsWith('text ') && at > 0 && lines[at - 1].includes(line.trimStart().slice(6, -1))),
  );
}
