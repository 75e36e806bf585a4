import { z } from 'zod';
import type { WorkerRecord } from '../model/worker-record.js';
import { listOf, textOf, wholeNumberOf, decodeDate, decodeKnownDate } from './check-reply.js';
import { parseJson } from '../codec/stored-value.js';
import type { AttemptLimits } from '../store/attempt-forms.js';

const detailsSchema = z.object({
  host: z.string(),
  pid: z.number(),
  app: z.string().optional(),
  version: z.string().optional(),
  slots: z.number(),
  weights: z
    .array(z.object({ name: z.string(), slots: z.int().min(1), most: z.int().min(1).optional() }))
    .optional(),
  processSlots: z.number().optional(),
  fleet: z.string().optional(),
  limits: z.array(z.string()).optional(),
  limitCosts: z.record(z.string(), z.number()).optional(),
  unprofiled: z.literal(true).optional(),
  paused: z.literal(true).optional(),
  stuck: z.array(z.object({ id: z.string(), name: z.string(), slots: z.int().min(1).optional() })).optional(),
});

/** Decodes the reply of `lua/worker/list.lua`. */
export function decodeWorkers(reply: unknown): WorkerRecord[] {
  return listOf(reply).map((entry) => {
    const [id, seenAt, text, holds] = listOf(entry);
    const worker = decodeWorker([textOf(id), textOf(seenAt), textOf(text)]);
    return holds === undefined ? worker : { ...worker, holds: wholeNumberOf(holds) };
  });
}

/** Decodes one entry of the list. Details that no worker of this library wrote are left out. */
function decodeWorker([id, seenAt, text]: [string, string, string]): WorkerRecord {
  const record: WorkerRecord = { id, seenAt: decodeKnownDate(seenAt) };
  const [, startedAt, json] = /^(\d+) (.*)$/s.exec(text) ?? [];
  const details = detailsSchema.safeParse(json === undefined ? undefined : parseJson(json).value);
  const since = decodeDate(startedAt);
  return details.success ? { ...record, ...(since && { startedAt: since }), ...details.data } : record;
}

/** Decodes the reply of `lua/worker/handler-limits.lua`. Another program may have written any text. */
export function decodeHandlerLimits(reply: unknown): Omit<AttemptLimits, 'name'> | undefined {
  const [, attempts, crashes] = /^(\d+):(\d+)$/.exec(reply === null ? '' : textOf(reply)) ?? [];
  return attempts === undefined ? undefined : { maxAttempts: Number(attempts), maxCrashes: Number(crashes) };
}
