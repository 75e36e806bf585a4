import { signal } from '@preact/signals';

/** The address of a view: the parts of its path and its parameters, all from the fragment of the URL. */
export interface Route {
  parts: string[];
  params: URLSearchParams;
}

export const route = signal(read());

addEventListener('hashchange', () => {
  route.value = read();
});

/** The parameters that stay from page to page, because they are chosen once. */
const KEPT = ['hours'];

/** Returns the link to a view. */
export function href(parts: readonly string[], params: Record<string, string | null | undefined> = {}): string {
  const query = new URLSearchParams();
  const kept = Object.fromEntries(KEPT.map((key) => [key, route.value.params.get(key)]));
  for (const [key, value] of Object.entries({ ...kept, ...params })) {
    if (value) {
      query.set(key, value);
    }
  }
  const text = query.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export function go(target: string): void {
  location.hash = target;
}

/** Changes parameters of this view in place, without a new entry of the browser's history. */
export function setParams(changes: Record<string, string | null>): void {
  const { parts, params } = route.peek();
  const next = { ...Object.fromEntries(params), ...changes };
  history.replaceState(null, '', href(parts, next));
  route.value = read();
}

function read(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
