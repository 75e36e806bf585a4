import { DURATION_BUCKETS, type Labels } from './instruments.js';

/** The instruments of this process that count. */
const COUNTS = ['attempts', 'stuck', 'streamChunks', 'streamBytes', 'running'] as const;
export type CountKey = (typeof COUNTS)[number];
/** The instruments of this process that measure durations. */
export type DurationKey = 'wait' | 'run' | 'operation';

/** Receives a duration in seconds as soon as it is measured. */
type DurationListener = (seconds: number, labels: Labels) => void;

/** One number with its labels. */
export class Count {
  value = 0;

  constructor(readonly labels: Labels) {}

  reset(): void {
    this.value = 0;
  }
}

/** Durations with their labels, counted by bucket. */
export class Durations {
  /** The counts by bucket of {@link DURATION_BUCKETS}; the last counts longer ones. */
  readonly buckets = DURATION_BUCKETS.map(() => 0).concat(0);
  count = 0;
  sum = 0;

  constructor(
    readonly labels: Labels,
    private readonly listeners: readonly DurationListener[],
  ) {}

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]!) {
      bucket++;
    }
    this.buckets[bucket]!++;
    this.count++;
    this.sum += seconds;
    for (const listener of this.listeners) {
      listener(seconds, this.labels);
    }
  }

  reset(): void {
    this.buckets.fill(0);
    this.count = 0;
    this.sum = 0;
  }
}

/**
 * The figures of this process, in plain numbers until a scrape reads them: a job then costs a few additions. A metrics library
 * would check and hash its labels at every call.
 */
export class ProcessFigures {
  private readonly counts = new Map<CountKey, Count[]>(COUNTS.map((key) => [key, []]));
  private readonly durations = { wait: [], run: [], operation: [] } satisfies Record<DurationKey, Durations[]>;
  private readonly listeners = { wait: [], run: [], operation: [] } satisfies Record<
    DurationKey,
    DurationListener[]
  >;

  /** Adds a number to an instrument. The caller keeps it, since two with the same labels would be two lines. */
  newCount(key: CountKey, labels: Labels): Count {
    const count = new Count(labels);
    this.countsOf(key).push(count);
    return count;
  }

  /** Adds durations to an instrument. The caller keeps them. */
  newDurations(key: DurationKey, labels: Labels): Durations {
    const durations = new Durations(labels, this.listeners[key]);
    this.durationsOf(key).push(durations);
    return durations;
  }

  countsOf(key: CountKey): Count[] {
    return this.counts.get(key)!;
  }

  durationsOf(key: DurationKey): Durations[] {
    return this.durations[key];
  }

  /** Calls the listener with each duration, for a library that takes no buckets. */
  listen(key: DurationKey, listener: DurationListener): void {
    const listeners: DurationListener[] = this.listeners[key];
    listeners.push(listener);
  }
}

export function isDurationKey(key: string): key is DurationKey {
  return key === 'wait' || key === 'run' || key === 'operation';
}

export function isCountKey(key: string): key is CountKey {
  return (COUNTS as readonly string[]).includes(key);
}
