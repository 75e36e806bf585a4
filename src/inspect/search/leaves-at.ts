type Leaf = string | number | boolean | null;

/** The values that a walk has met, with the lengths of the paths that were left there. */
type Met = Map<object, Set<number>>;

/**
 * Returns the plain values at a path of a payload, such as `items.sku`. Each item of an array is looked at, unless the
 * path has its number. A key may have dots itself. A value that two ways lead to is looked at once.
 */
export function leavesAt(value: unknown, path: string, met: Met = new Map()): Leaf[] {
  if (typeof value !== 'object' || value === null || wasMet(met, value, path.length)) {
    return [];
  }
  if (Array.isArray(value)) {
    const [first, rest] = cut(path);
    const numbered =
      /^\d+$/.test(first) && Number(first) < value.length ? leavesIn(value[Number(first)], rest, met) : [];
    return [
      ...numbered,
      ...value.flatMap((item: unknown) => (Array.isArray(item) ? [] : leavesAt(item, path, met))),
    ];
  }
  const fields = value as Record<string, unknown>;
  const dots = [...path.matchAll(/\./g)].map(({ index }) => index);
  return [...dots, path.length].flatMap((end) => {
    const key = path.slice(0, end);
    return Object.hasOwn(fields, key) ? leavesIn(fields[key], path.slice(end + 1) || undefined, met) : [];
  });
}

/** Returns the values at the rest of a path. At its end it is the value itself, or the items of an array. */
function leavesIn(value: unknown, rest: string | undefined, met: Met): Leaf[] {
  if (rest !== undefined) {
    return leavesAt(value, rest, met);
  }
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isLeaf);
}

function wasMet(met: Met, value: object, left: number): boolean {
  const lengths = met.get(value) ?? new Set();
  const isKnown = lengths.has(left);
  met.set(value, lengths.add(left));
  return isKnown;
}

function isLeaf(value: unknown): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function cut(path: string): [first: string, rest: string | undefined] {
  const at = path.indexOf('.');
  return at < 0 ? [path, undefined] : [path.slice(0, at), path.slice(at + 1)];
}
