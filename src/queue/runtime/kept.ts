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
