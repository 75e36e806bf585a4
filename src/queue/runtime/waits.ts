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

/** Waits that can be ended early, all at once. */
export class InterruptibleWait {
  private readonly wakes = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  /** Resolves with false after `ms`, or with true once `end` is called. */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = (isEarly: boolean) => {
        this.clock.clear(timer);
        this.wakes.delete(wake);
        resolve(isEarly);
      };
      const wake = () => stop(true);
      this.wakes.add(wake);
      const timer = this.clock.setTimeout(() => stop(false), ms);
    });
  }

  /** Ends the current waits. */
  end(): void {
    this.wakes.forEach((wake) => wake());
  }
}

/** The callbacks that wait for a signal, and the one listener that calls them. Node warns of a leak at eleven listeners. */
interface Waits {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const waitsOf = new WeakMap<AbortSignal, Waits>();

/** Calls back when a signal aborts. Returns a function that ends the wait. Many waits cost the signal one listener. */
export function onceAborted(signal: AbortSignal, callback: () => void): () => void {
  const waits = waitsOf.get(signal) ?? listenTo(signal);
  waits.callbacks.add(callback);
  return () => {
    waits.callbacks.delete(callback);
    if (waits.callbacks.size === 0 && waitsOf.get(signal) === waits) {
      waitsOf.delete(signal);
      signal.removeEventListener('abort', waits.listener);
    }
  };
}

function listenTo(signal: AbortSignal): Waits {
  const callbacks = new Set<() => void>();
  const listener = () => callbacks.forEach((callback) => callback());
  signal.addEventListener('abort', listener, { once: true });
  const waits = { callbacks, listener };
  waitsOf.set(signal, waits);
  return waits;
}
