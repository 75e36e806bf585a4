import { aged, type EncodedJob } from '../../queue/store/enqueue-call.js';
import type { OnceEntry } from '../../queue/store/verbs/once-verbs.js';
import type { OutboxEntry, OutboxJob } from '../dialects/dialect.js';

/** The part of an encoded job that a row keeps as JSON. */
type KeptOptions = Pick<EncodedJob, 'options' | 'span'>;

/** Returns the row of a job. */
export function rowOf(connection: string, queue: string, job: EncodedJob): OutboxJob {
  const { id, name, payload, options, span } = job;
  const kept: KeptOptions = { ...(options && { options }), ...(span && { span }) };
  const { request, group } = options ?? {};
  // An id of the caller may come again, but not the id of its request.
  return { entry: request ?? id, id, connection, queue, name, payload, options: JSON.stringify(kept), group };
}

/** Returns the job of a row. A delay and an expiry count from the insert. */
export function entryOf(row: OutboxEntry): OnceEntry {
  const { id, name, payload, ageMs } = row;
  const job: EncodedJob = { id, name, payload, ...(JSON.parse(row.options) as KeptOptions) };
  return { key: row.entry, job: aged(job, ageMs) };
}
