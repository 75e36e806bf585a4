// Text of others reaches the page only by textContent, never as HTML.

/** Creates an element: el('p', { className: 'hint' }, 'text', node …). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.includes('-') || name === 'role') node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Leaves a node alone that says it already: whoever reads or has selected it is not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Makes the children of a list those of `items`, keeping the node of each key, and with it the focus. */
export function keyed(list, items, keyOf, make, update) {
  const known = (list.known ??= new Map());
  const nodes = items.map((item) => {
    const key = keyOf(item);
    const node = known.get(key) ?? make(item);
    known.set(key, node);
    update(node, item);
    return node;
  });
  const kept = new Set(nodes);
  for (const [key, node] of known) {
    if (kept.has(node)) continue;
    node.remove();
    known.delete(key);
  }
  nodes.forEach((node, i) => {
    if (list.children[i] !== node) list.insertBefore(node, list.children[i] ?? null);
  });
}

export const shortId = (id) => id.slice(0, 8);
export const count = (number) => number.toLocaleString('en');
const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });
export const timeOf = (date) => clock.format(new Date(date));
/** Returns the age in the largest unit that fits, as a whole number. */
export function age(s) {
  if (s < 60) return `${s} s`;
  return s < 3_600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3_600)} h`;
}
export const seconds = (ms) => `${(Math.max(0, ms) / 1000).toFixed(1)} s`;

/** Throws an Error with a message and the `status` of the response. */
export async function getJson(path) {
  const response = await fetch(path);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const text = answer.message ?? `The shop answered ${response.status}.`;
  throw Object.assign(new Error(text), { status: response.status });
}

/** Posts a form as the pattern's demo does. Throws an Error with the server's message. */
export async function post(path, fields = {}) {
  let response;
  try {
    response = await fetch(path, { method: 'POST', body: new URLSearchParams(fields) });
  } catch {
    throw new Error('The shop does not answer.');
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error([answer.message ?? `The shop answered ${response.status}.`].flat().join(' '));
  return answer;
}
