/** An item that knows its neighbours in its list. Both are undefined outside of a list. */
export interface ListItem<Item> {
  before: Item | undefined;
  behind: Item | undefined;
}

/**
 * The claimed attempts of a runner, in the order of their claims. It is no Set, because V8 often replaces the table of a
 * Set, and each table refers to the next. Once one is among the old objects, all later tables and their attempts outlive
 * scavenges. See docs/internals/performance.md, "Young objects".
 */
export class AttemptList<Item extends ListItem<Item>> implements Iterable<Item> {
  private first: Item | undefined;
  private last: Item | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  has(item: Item): boolean {
    return item === this.first || item.before !== undefined;
  }

  /** Adds an item, and returns it. */
  add(item: Item): Item {
    item.before = this.last;
    if (this.last) {
      this.last.behind = item;
    } else {
      this.first = item;
    }
    this.last = item;
    this.count++;
    return item;
  }

  /** Removes an item. Returns whether it was in the list. */
  delete(item: Item): boolean {
    if (!this.has(item)) {
      return false;
    }
    const { before, behind } = item;
    if (before) {
      before.behind = behind;
    } else {
      this.first = behind;
    }
    if (behind) {
      behind.before = before;
    } else {
      this.last = before;
    }
    item.before = undefined;
    item.behind = undefined;
    this.count--;
    return true;
  }

  /** Iterates over the items of now, which may be removed meanwhile. */
  [Symbol.iterator](): Iterator<Item> {
    const items: Item[] = [];
    for (let item = this.first; item; item = item.behind) {
      items.push(item);
    }
    return items[Symbol.iterator]();
  }
}
