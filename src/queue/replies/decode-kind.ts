import { z } from 'zod';
import type { KindCount } from '../store/dead-letter-query.js';

const HOUR_MS = 3_600_000;
/** A time of more digits is no date. */
const RECORD = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (.*)$/s;

/**
 * Decodes the record of a kind of error, see lua/lib/kind/change_kind. It counts by whole hours, so the last hour has a
 * share of the one before. Returns undefined for a record of another program, which the next death of the kind replaces.
 *
 * @param payloadBytes of the last job; -1 if that is no dead letter of the kind any more
 */
export function decodeKind(
  nowMs: number,
  kind: string,
  record: string,
  payloadBytes: number,
): KindCount | undefined {
  const found = RECORD.exec(record);
  if (!found) {
    return undefined; // one such text must not keep the other kinds and queues from being shown
  }
  const [count, firstAtMs, lastAtMs, hour, inHour, before] = found.slice(1, 7).map(Number) as Six;
  const hoursAgo = Math.floor(nowMs / HOUR_MS) - hour;
  const left = 1 - (nowMs % HOUR_MS) / HOUR_MS;
  const lastHour = hoursAgo === 0 ? inHour + before * left : hoursAgo === 1 ? inHour * left : 0;
  return {
    kind,
    count,
    firstAtMs,
    lastAtMs,
    lastHour: Math.min(count, Math.round(lastHour)),
    ...(payloadBytes >= 0 && { sample: { id: found[7]!, payloadBytes } }),
  };
}

const wordsSchema = z.object({
  known: z.boolean().optional(),
  note: z.string().optional(),
  by: z.string().optional(),
});
const MARK = /^(\d{1,15}) (\d{1,15}) (\{.*\})$/s;

/** Decodes what people said of a kind, as a field. A text of another program or version counts as nothing. */
export function markOf(text: string): Pick<KindCount, 'mark'> {
  const [, at, quietUntil, json = ''] = MARK.exec(text) ?? [];
  try {
    const words = wordsSchema.parse(JSON.parse(json));
    return {
      mark: { ...words, atMs: Number(at), ...(quietUntil !== '0' && { quietUntilMs: Number(quietUntil) }) },
    };
  } catch {
    return {};
  }
}

type Six = [number, number, number, number, number, number];
