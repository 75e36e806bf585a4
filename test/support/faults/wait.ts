// Ways to wait for something to happen, with an end.

/** A promise that the test resolves. */
export interface Gate<Value = void> {
  readonly promise: Promise<Value>;
  open(value: Value): void;
}

export function gate<Value = void>(): Gate<Value> {
  let open!: (value: Value) => void;
  const promise = new Promise<Value>((resolve) => (open = resolve));
  return { promise, open };
}

/** Waits for time: only as the duration of a job, or to show that nothing happens. For the rest there are signals. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Asks every 5 ms until the answer is truthy, and returns it. For changes that send no signal. */
export async function eventually<Value>(
  ask: () => Value | Promise<Value>,
  {
    timeoutMs = 20_000,
    what = String(ask),
    everyMs = 5,
  }: { timeoutMs?: number; what?: string; everyMs?: number } = {},
): Promise<Exclude<Value, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer) {
      return answer as Exclude<Value, false | null | undefined>;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${timeoutMs} ms: ${what}`);
    }
    await sleep(everyMs);
  }
}

/** Does the same at longer intervals, for processes and browsers, which need the processor themselves. */
export function patiently<Value>(
  ask: () => Value | Promise<Value>,
  options: { timeoutMs?: number; what?: string } = {},
): Promise<Exclude<Value, false | null | undefined>> {
  return eventually(ask, { everyMs: 50, ...options });
}

/** Returns the promise's value, or an error that says what did not come. */
export async function within<Value>(
  ms: number,
  what: string | (() => string),
  promise: Promise<Value>,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const say = () => `not within ${ms} ms: ${typeof what === 'function' ? what() : what}`;
    timer = setTimeout(() => reject(new Error(say())), ms);
    timer.unref(); // a wait for what never came does not outlive its test file
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
