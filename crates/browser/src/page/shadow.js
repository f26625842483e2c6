// Shadow roots. Scripts do not see closed ones; this program opens them to this script.

const closedRoots = new WeakMap();
const asked = new WeakSet();
const MOST_HOSTS = 20;
const PLAIN_HOSTS = new Set(["article", "aside", "div", "footer", "header", "main", "nav", "p", "section", "span"]);
/** Elements of the last snapshot that may have a closed root. */
let hosts = [];

const rootOf = (element) => element.shadowRoot ?? closedRoots.get(element) ?? null;

/** An element with a box and nothing in it, or with a name of its own, may show what only a closed root has. */
const noteHost = (element, tag) => {
  if (hosts.length >= MOST_HOSTS || asked.has(element) || rootOf(element)) return;
  const isPlain = PLAIN_HOSTS.has(tag) && !element.firstChild && element.clientHeight > 0;
  if (tag.includes("-") || isPlain) hosts.push(element);
};

const hostAt = (at) => {
  asked.add(hosts[at]);
  return hosts[at];
};

const openRoot = (host, root) => {
  closedRoots.set(host, root);
  return true;
};
