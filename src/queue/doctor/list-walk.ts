/**
 * Reads a list in slices while it grows at its head. Returns which ids are new, and which are in the list twice.
 * Enqueues move ids that were already read into the next slice.
 */
export class ListWalk {
  private readonly seen = new Set<string>();
  private last: readonly string[] = [];

  take(ids: readonly string[]): { fresh: string[]; again: string[] } {
    const moved = this.movedInto(ids);
    const fresh: string[] = [];
    const again: string[] = [];
    for (const id of ids.slice(moved)) {
      (this.seen.has(id) ? again : fresh).push(id);
      this.seen.add(id);
    }
    this.last = ids;
    return { fresh, again };
  }

  /** Returns whether an id was met so far. */
  has(id: string): boolean {
    return this.seen.has(id);
  }

  /** Returns how many ids at the beginning of the slice are the end of the last one. */
  private movedInto(ids: readonly string[]): number {
    if (ids.every((id) => this.seen.has(id)) && ids.length === this.last.length) {
      return ids.length; // more came than a slice holds
    }
    const moved = ids.lastIndexOf(this.last.at(-1) ?? '') + 1;
    const end = this.last.slice(this.last.length - moved);
    return moved > 0 && ids.slice(0, moved).every((id, i) => id === end[i]) ? moved : 0;
  }
}
