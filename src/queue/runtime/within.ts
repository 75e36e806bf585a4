import type { Clock } from './clock.js';

/**
 * Waits for a promise, at most `ms`. The promise itself goes on.
 *
 * @returns what it resolved with, or what `late` returned
 * @throws what it was rejected with, or what `late` threw
 */
export async function within<Value, Late>(
  clock: Clock,
  ms: number,
  promise: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  let end: (() => void) | undefined;
  const timer = clock.setTimeout(() => end?.(), Math.max(0, ms));
  const passed = new Promise<'late'>((resolve) => (end = () => resolve('late')));
  try {
    const outcome = await Promise.race([promise.then((value) => ({ value })), passed]);
    return outcome === 'late' ? late() : outcome.value;
  } finally {
    clock.clear(timer);
  }
}
