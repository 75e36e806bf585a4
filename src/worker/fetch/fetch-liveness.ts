/**
 * How long ago Redis last answered a fetch of a worker. A worker whose slots are all busy has nothing to ask for: its
 * clock stands, so that a long job is not taken for a worker that hangs.
 */
export class FetchLiveness {
  private lastAnswer: number | undefined;
  private full = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  answered(): void {
    this.lastAnswer = this.now();
  }

  /** To be told whenever a slot was filled or freed. */
  look(full: boolean): void {
    if (this.full && !full) {
      this.answered(); // it can be asked for again only from now on
    }
    this.full = full;
  }

  /** In ms; 0 while all slots are busy, undefined before the first answer. */
  get sinceMs(): number | undefined {
    if (this.full) {
      return 0;
    }
    return this.lastAnswer === undefined ? undefined : Math.round(this.now() - this.lastAnswer);
  }
}
