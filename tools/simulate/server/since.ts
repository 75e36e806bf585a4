/** Notes since when something holds. */
export class Since {
  private readonly from = new Map<string, number>();

  note(key: string, holds: boolean, now: number): void {
    if (!holds) {
      this.from.delete(key);
    } else if (!this.from.has(key)) {
      this.from.set(key, now);
    }
  }

  /** Keeps the keys of a list only. */
  keep(keys: ReadonlySet<string>): void {
    [...this.from.keys()].filter((key) => !keys.has(key)).forEach((key) => this.from.delete(key));
  }

  of(key: string): number {
    return this.from.get(key) ?? Infinity;
  }
}
