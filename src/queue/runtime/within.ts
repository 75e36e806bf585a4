import { LONGEST_TIMER_MS } from './bounds.js';
import type { Clock } from './clock.js';

/** Conditions that end or lengthen a wait. */
interface WaitEnds {
  /** Ends the wait early, as if its time had passed. */
  signal?: AbortSignal;
  /** Returns how much longer to wait once the time has passed, in ms; 0 for no longer. */
  moreMs?: () => number;
}

/**
 * Waits for a promise, at most `ms`. The promise itself continues.
 *
 * @returns the promise's value, or that of `late`
 * @throws the promise's error, or that of `late`
 */
export async function within<Value, Late>(
  clock: Clock,
  ms: number,
  promise: Promise<Value>,
  late: () => Late,
  { signal, moreMs }: WaitEnds = {},
): Promise<Value | Late> {
  let end!: () => void;
  const passed = new Promise<'late'>((resolve) => (end = () => resolve('late')));
  const expire = () => {
    const leftMs = moreMs?.() ?? 0;
    if (leftMs > 0) {
      timer = clock.setTimeout(expire, leftMs);
    } else {
      end();
    }
  };
  let timer = clock.setTimeout(expire, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  try {
    const outcome = await Promise.race([promise.then((value) => ({ value })), passed]);
    return outcome === 'late' ? late() : outcome.value;
  } finally {
    clock.clear(timer);
    signal?.removeEventListener('abort', end);
  }
}
