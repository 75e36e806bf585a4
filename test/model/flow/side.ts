// A queue on one of the stores, with the state of its callers. A step does the same on both.
import type { Batch } from '#queue/batches/batch.js';
import type { ClaimedJob } from '#queue/model/job.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import type { ClaimRequest } from '#queue/store/attempt-forms.js';
import type { StoreCall } from '#queue/store/store-call.js';
import type { JobQueue } from '#queue/job-queue.js';
import fc from 'fast-check';

export const MINUTE = 60_000;
export const HOUR = 3_600_000;

export interface Side {
  readonly queue: JobQueue;
  /** Another queue on the same store, for members of batches and for jobs that others wait for. */
  readonly other: JobQueue;
  claims: ClaimedJob[];
  readonly ids: string[];
  readonly batches: Batch<JobQueue>[];
  /** The claim requests of workers, to be repeated and extended. */
  readonly requests: (ClaimRequest & { atMs: number })[];
  /** Returns the time of the store, which is the same on both sides. */
  now(): number;
  /** Returns the name that the callers of this side give to a thing that the steps call by a word. */
  named(word: string): string;
}

export function newSide(
  queue: JobQueue,
  other: JobQueue,
  now: () => number,
  named: Side['named'] = (word) => word,
): Side {
  return { queue, other, claims: [], ids: [], batches: [], requests: [], now, named };
}

export interface FlowStep {
  readonly text: string;
  /** The time that passes before the step, in ms. */
  readonly passesMs?: number;
  toString(): string;
  does(side: Side): Promise<unknown>;
}

export function step(text: string, does: FlowStep['does'], passesMs = 0): FlowStep {
  return { text, does, passesMs, toString: () => text };
}

/** Runs a call of the store. */
export function ask<Answer>({ queue }: Side, build: (calls: StoreCalls) => StoreCall<Answer>): Promise<Answer> {
  return queue.exec(build);
}

/** Picks one of a list, from its end, as the two sides have the same. */
export function pick<Item>(items: readonly Item[], number: number): Item | undefined {
  return items.length === 0 ? undefined : items[items.length - 1 - (number % items.length)];
}

export const drawnIndex = fc.nat({ max: 7 });

/** Returns a value in one of four cases, else undefined. */
export function rarely<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

export function given(asked: object): object {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
