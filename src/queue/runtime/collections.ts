export function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) {
      group.push(item);
    } else {
      groups.set(keyOf(item), [item]);
    }
  }
  return groups;
}

/** Cuts items into slices of about equal length, as few as possible. No slice has more than `most` items. */
export function slicesOf<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  const length = Math.ceil(items.length / count);
  return Array.from({ length: count }, (_, i) => items.slice(i * length, (i + 1) * length));
}

/** A Map or a WeakMap. */
interface Keeper<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
  readonly size?: number;
  clear?(): void;
}

/**
 * Returns the value that is kept under a key. Makes it first, if there is none.
 *
 * @param most the values beyond which a Map is emptied
 */
export function keptIn<Key, Value>(
  keeper: Keeper<Key, Value>,
  key: Key,
  make: () => Value,
  most = Infinity,
): Value {
  let value = keeper.get(key);
  if (value === undefined) {
    value = make();
    if ((keeper.size ?? 0) >= most) {
      keeper.clear?.();
    }
    keeper.set(key, value);
  }
  return value;
}

/** Returns the kept array if it has the same elements, else the new one. So what was built for the kept array stays valid. */
export function keptArray<Element>(
  kept: readonly Element[] | undefined,
  now: readonly Element[],
): readonly Element[] {
  return kept?.length === now.length && now.every((element, i) => element === kept[i]) ? kept : now;
}

/**
 * Returns the record's own field of a name; undefined where it has none. A name from outside may be `constructor`, which
 * every object inherits.
 */
export function own<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns the fields that are not undefined, so that spreading them over others keeps the others. */
export function withoutUndefined<Of extends object>(fields: { [Key in keyof Of]: Of[Key] | undefined }): Of {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as object as Of;
}
