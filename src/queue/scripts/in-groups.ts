import type { ScriptArgument } from '../transport/script-runner.js';

/** The way to write consecutive items that share a value. */
interface Grouping<Item> {
  areTogether: (a: Item, b: Item) => boolean;
  /** Writes the shared value and the number of items. */
  addHead: (args: ScriptArgument[], item: Item, count: number) => void;
  addOwn: (args: ScriptArgument[], item: Item) => void;
  addTail?: (args: ScriptArgument[], item: Item) => void;
}

/** Writes consecutive items, and each shared value once. */
export function inGroups<Item>(
  items: readonly Item[],
  { areTogether, addHead, addOwn, addTail }: Grouping<Item>,
): ScriptArgument[] {
  const args: ScriptArgument[] = [];
  let start = 0;
  while (start < items.length) {
    const first = items[start]!;
    let end = start + 1;
    while (end < items.length && areTogether(first, items[end]!)) {
      end++;
    }
    addHead(args, first, end - start);
    for (let i = start; i < end; i++) {
      addOwn(args, items[i]!);
    }
    addTail?.(args, first);
    start = end;
  }
  return args;
}
