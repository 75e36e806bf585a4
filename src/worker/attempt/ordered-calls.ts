/**
 * Sends calls of one kind for one job, each after the reply to the one before. Redis may refuse a call of an unknown
 * script, and the repeat would arrive behind a later call. Values that wait meanwhile share the next call.
 */
export class OrderedCalls<Value> {
  private waiting: Value[] = [];
  private current: Promise<boolean> | undefined;
  /** The call of the waiting values. */
  private next: Promise<boolean> | undefined;

  /**
   * @param keep how many of the newest waiting values are sent
   * @param onIdle called when all calls are answered
   */
  constructor(
    private readonly keep: number,
    private readonly send: (values: Value[]) => Promise<boolean>,
    private readonly onIdle: () => void,
  ) {}

  /** The end of the last call; undefined if all are answered. */
  get last(): Promise<boolean> | undefined {
    return this.next ?? this.current;
  }

  /** Sends a value. Resolves to false if its claim is lost. */
  add(value: Value): Promise<boolean> {
    this.waiting.push(value);
    if (this.waiting.length > this.keep) {
      this.waiting.shift();
    }
    return this.current
      ? (this.next ??= this.current.then(this.sendWaiting, this.sendWaiting))
      : this.sendWaiting();
  }

  private readonly sendWaiting = (): Promise<boolean> => {
    const values = this.waiting;
    this.waiting = [];
    this.next = undefined;
    this.current = this.send(values);
    this.current.then(this.answered, this.answered);
    return this.current;
  };

  private readonly answered = (): void => {
    if (!this.next) {
      this.current = undefined;
      this.onIdle();
    }
  };
}
