import { z } from 'zod';
import type { WorkerRecord } from '../model/worker-record.js';
import { decodeDate, decodeKnownDate } from './decode-date.js';
import { parseJson } from '../codec/parse-json.js';

const detailsSchema = z.object({
  host: z.string(),
  pid: z.number(),
  version: z.string().optional(),
  slots: z.number(),
  processSlots: z.number().optional(),
  fleet: z.string().optional(),
  paused: z.literal(true).optional(),
  stuck: z.array(z.object({ id: z.string(), name: z.string() })).optional(),
});

/** Decodes one entry of `lua/worker/list.lua`. Details that no worker of this library wrote are left out. */
export function decodeWorker([id, seenAt, text]: [string, string, string]): WorkerRecord {
  const record: WorkerRecord = { id, seenAt: decodeKnownDate(seenAt) };
  const [, startedAt, json] = /^(\d+) (.*)$/s.exec(text) ?? [];
  const details = detailsSchema.safeParse(json === undefined ? undefined : parseJson(json).value);
  const since = decodeDate(startedAt);
  return details.success ? { ...record, ...(since && { startedAt: since }), ...details.data } : record;
}
