import { z } from 'zod';
import type { JobCodec } from './codec.js';
import { parseJson } from './stored-value.js';
import { REDACTED, type Redact } from './redact.js';

/** The storage format of jobs, as the last worker announced it. */
export interface AnnouncedContent {
  /** The name of its codec; undefined: plain JSON. */
  readonly codec?: string;
  /** True if nothing may be stored in the clear. */
  readonly encrypted?: true;
  /** Present if jobs in the clear do not run. */
  readonly plainJobs?: 'refuse';
  /** The ids of its keys, the encrypting one first. */
  readonly keyIds?: readonly string[];
  /** The names of hidden fields. true: a function decides, so nothing is shown without it. */
  readonly redact?: readonly string[] | true;
  /** The bounds of the lines of ended jobs; undefined: none are kept. */
  readonly outcomes?: OutcomeBounds;
}

interface OutcomeBounds {
  readonly cap: number;
  readonly ageMs: number;
}

const boundsSchema = z.object({ cap: z.int().min(1), ageMs: z.int().min(1) });

/** Returns what a process announces of how its queue is stored and shown. */
export function announcedContent({
  codec,
  redact,
  outcomes,
}: {
  codec?: JobCodec;
  redact?: Redact;
  outcomes?: OutcomeBounds;
}): AnnouncedContent {
  return {
    ...(codec && { codec: codec.name }),
    ...(codec?.secret && { encrypted: true as const }),
    ...(codec?.plainJobs === 'refuse' && { plainJobs: codec.plainJobs }),
    ...(codec?.keyIds && { keyIds: codec.keyIds }),
    ...(outcomes && { outcomes }),
    ...(redact && { redact: typeof redact === 'function' ? (true as const) : redact }),
  };
}

/** Decodes an announcement; null if there is none. Nothing is shown, nor stored in the clear, by a broken one. */
export function decodeAnnouncedContent(text: string | null): AnnouncedContent | undefined {
  const { value } = parseJson(text ?? undefined);
  if (text === null) {
    return undefined;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const content: AnnouncedContent = isObject ? value : { encrypted: true, redact: true };
  const { redact } = content;
  const isKnown =
    redact === undefined || (Array.isArray(redact) && redact.every((name) => typeof name === 'string'));
  return isKnown ? content : { ...content, redact: true };
}

/** What the last reading of a queue found announced. */
export interface Announced {
  content?: AnnouncedContent | undefined;
  /** The JSON of the last producer. */
  ofProducers?: string | null;
}

/**
 * Returns what the workers and the producers of a queue announced. Where they differ, more is hidden, and nothing is stored
 * in the clear.
 */
export function mergedContent(
  ofWorkers: AnnouncedContent | undefined,
  ofProducers: AnnouncedContent | undefined,
): AnnouncedContent | undefined {
  if (!ofWorkers || !ofProducers) {
    return ofWorkers ?? ofProducers;
  }
  const [one, other] = [ofWorkers.redact ?? [], ofProducers.redact ?? []];
  const redact = one === true || other === true ? true : [...new Set([...one, ...other])];
  const hasNoCodec = ofWorkers.codec === undefined;
  const plainJobs = ofWorkers.plainJobs ?? ofProducers.plainJobs;
  return {
    ...(hasNoCodec && { codec: ofProducers.codec, keyIds: ofProducers.keyIds }),
    ...ofWorkers,
    ...((ofWorkers.encrypted ?? ofProducers.encrypted) && { encrypted: true }),
    ...(plainJobs && { plainJobs }),
    ...((redact === true || redact.length > 0) && { redact }),
  };
}

/** Returns the bounds of the outcomes that the workers of a queue keep; undefined for none, or for broken ones. */
export function announcedOutcomes(text: string | null): OutcomeBounds | undefined {
  return boundsSchema.safeParse(decodeAnnouncedContent(text)?.outcomes).data;
}

/** Returns the redaction of a queue, for a process without the queue's options. */
export function announcedRedact(content: AnnouncedContent | undefined): Redact | undefined {
  const { redact } = content ?? {};
  return redact === true ? () => REDACTED : redact;
}
