import { createHash } from 'node:crypto';
import type { Place } from './source-keys.js';

/** The fields of a job's hash that are read. */
export const FIELDS = [
  'name',
  'data',
  'opts',
  'priority',
  'atm',
  'attemptsMade',
  'stc',
  'deid',
  'rjk',
  'parentKey',
  'defa',
  'failedReason',
  'stacktrace',
  'processedOn',
  'finishedOn',
  'timestamp',
] as const;

/** A job of BullMQ or Bull. */
export interface OldJob {
  id: string;
  place: Place;
  /** Its score, in a sorted set. */
  score: number;
  /** When a delayed job is due, in ms. */
  dueMs: number;
  fields: Partial<Record<(typeof FIELDS)[number], string>>;
  /** A digest that another job with the same id does not have. */
  digest: string;
  /** True if it has children, or results of them. */
  isParent: boolean;
  /** True if another job holds its key of deduplication, or none. */
  hasLostKey: boolean;
  /** The rest of the time of its key; -1 without an expiry. */
  dedupTtlMs: number;
}

/** A job that was taken. */
export interface TakenJob extends OldJob {
  /** Its entry, which names the place it came from. */
  entry: string;
}

/** Returns the key of an entry, which never comes again. */
export function keyOf(entry: string): string {
  return entry.slice(0, entry.indexOf(' '));
}

export function placeOf(entry: string): { place: Place; score: number; digest: string } {
  const [, place, score, , digest] = entry.split(' ') as [string, Place, string, string, string];
  return { place, score: Number(score), digest };
}

/** Returns the digest of a job, as `take` writes it into the entry. */
export function digestOf(text: string | Buffer | null | undefined): string {
  return text === null || text === undefined ? '-' : createHash('sha1').update(text).digest('hex');
}
