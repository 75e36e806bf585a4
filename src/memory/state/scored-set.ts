/** A set whose members have a score, in the order of Redis: by score, then by text. */
export class ScoredSet {
  private readonly scores = new Map<string, number>();
  private sorted: string[] | undefined;

  get size(): number {
    return this.scores.size;
  }

  set(member: string, score: number): void {
    if (this.scores.get(member) !== score) {
      this.scores.set(member, score);
      this.sorted = undefined;
    }
  }

  score(member: string): number | undefined {
    return this.scores.get(member);
  }

  has(member: string): boolean {
    return this.scores.has(member);
  }

  delete(member: string): boolean {
    const was = this.scores.delete(member);
    if (was && this.sorted?.[0] === member) {
      this.sorted.shift();
    } else if (was) {
      this.sorted = undefined;
    }
    return was;
  }

  /** Gives members with a later score this one; see lua/lib/core/bring_back.lua. */
  bringBack(latest: number, score: number): void {
    [...this.scores].filter(([, each]) => each > latest).forEach(([member]) => this.set(member, score));
  }

  clear(): void {
    this.scores.clear();
    this.sorted = undefined;
  }

  /** Returns all members, the lowest score first. */
  members(): readonly string[] {
    this.sorted ??= [...this.scores.keys()].toSorted(
      (a, b) => this.scores.get(a)! - this.scores.get(b)! || (a < b ? -1 : 1),
    );
    return this.sorted;
  }

  /** Returns the members up to a score, the lowest first. */
  upTo(score: number): string[] {
    return this.members().filter((member) => this.scores.get(member)! <= score);
  }
}

/** Removes the first element that is `value`. */
export function removeFirst(list: string[], value: string): boolean {
  const at = list.indexOf(value);
  return at >= 0 && list.splice(at, 1).length > 0;
}
