// Sends the rows of one queue to Redis.
import { z } from 'zod';
import type { Sealed } from '../queue/codec/sealed.js';
import { refuseContradictions } from '../queue/enqueue/enqueue-options.js';
import { EncryptedQueueError } from '../queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { groupName } from '../queue/model/group.js';
import { jobFieldsAt } from '../queue/model/job-options.js';
import { groupLimitFields } from '../queue/model/limits.js';
import { refuseBesideTransaction } from '../queue/results/store-jobs.js';
import { aged, type EncodedJob, faultOf } from '../queue/store/enqueue-call.js';
import type { QueueAccess } from '../queue/store/queue-store.js';
import { checkJobId, checkJobName, isId } from '../queue/validation/names.js';
import { duration } from '../queue/validation/numbers.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { OnceEntry, OnceReply, OnceSender } from '../queue/verbs/once.js';
import type { OutboxEntry, OutboxJob } from './dialects.js';

/** The part of an encoded job that a row keeps as JSON. */
type KeptOptions = Pick<EncodedJob, 'options' | 'span'>;

const time = z.int({ error: 'expected a whole number of ms' });
const id = z.custom<string>(isId, 'expected an id');

const { name: _name, id: _id, addedBy: _addedBy, stopsBatch: _stopsBatch, ...fields } = jobFieldsAt('enqueue');

/** The kept options, in their sent form. */
const keptSchema = z.strictObject(
  {
    options: z
      .strictObject({
        ...fields,
        runAt: time.optional(),
        groupLimits: z.strictObject(groupLimitFields).nullable().optional(),
        request: id.optional(),
        payloadId: id.optional(),
      })
      .optional(),
    span: z.strictObject({ runAtMs: time, expiresInMs: duration(1) }).optional(),
  },
  { error: 'expected an object with options, span' },
);

/** The text of the options of a job without any. */
const NO_OPTIONS = '{}';
const LONGEST_ENTRY = 256;

export function rowOf(connection: string, queue: string, job: EncodedJob): OutboxJob {
  const { name, payload, options, span } = job;
  const kept: KeptOptions = { ...(options && { options }), ...(span && { span }) };
  const { request, group } = options ?? {};
  // An id of the caller may come again, but not the id of its request.
  return {
    entry: request ?? job.id,
    id: job.id,
    connection,
    queue,
    name,
    payload,
    options: JSON.stringify(kept),
    group,
  };
}

/**
 * Returns the job of a row. A delay and an expiry count from the insert. Checks all of it, as an enqueue does. A script
 * that fails at an option keeps what it has written by then.
 *
 * @throws InvalidOptionError or SyntaxError for a row that no enqueue has written
 */
function entryOf(row: OutboxEntry): OnceEntry {
  const { entry, name, payload, ageMs, group } = row;
  if (entry.length === 0 || entry.length > LONGEST_ENTRY) {
    throw new InvalidOptionError('entry', `text of 1 to ${LONGEST_ENTRY} characters`, show(entry));
  }
  checkJobId(row.id, 'id');
  checkJobName(name, 'name');
  if (group !== undefined) {
    checkOptions('group_name', groupName, group);
  }
  const job: EncodedJob = { id: row.id, name, payload: checkedJson(payload), ...keptOf(row.options) };
  return { key: entry, job: aged(job, ageMs) };
}

function checkedJson(payload: Sealed | undefined): Sealed {
  if (payload === undefined) {
    throw new InvalidOptionError('payload', 'at most 512 MiB', 'more');
  }
  try {
    JSON.parse(payload);
  } catch {
    throw new InvalidOptionError('payload', 'JSON', `${payload.length} characters of other text`);
  }
  return payload;
}

function keptOf(text: string): KeptOptions {
  if (text === NO_OPTIONS) {
    return {};
  }
  const kept = checkOptions('options', keptSchema, JSON.parse(text)) as KeptOptions;
  const { options = {} } = kept;
  if (options.groupLimits !== undefined && options.group === undefined) {
    throw new InvalidOptionError('options.options.groupLimits', 'a group beside them', 'none');
  }
  refuseContradictions('options.options', options);
  refuseBesideTransaction(kept);
  return kept;
}

/** The most jobs and characters of one call, which must not block the server. */
const MOST_JOBS = 500;
const MOST_LENGTH = 1_000_000;
/** The errors of a queue that takes no row. */
const OF_QUEUE = /WRONGTYPE|OOM|READONLY/;

/** A row that was refused. */
export interface Refused {
  row: OutboxEntry;
  reason: string;
  /** True if it may fit later: it never fails for good. */
  isFull: boolean;
}

/** The outcome of the rows of a queue. The rows in none of the lists stay as they are. */
export interface Shipped {
  /** The rows whose jobs are there. */
  sent: OutboxEntry[];
  refused: Refused[];
  /** The groups of rows that were not added: their later rows wait. */
  held: Set<string>;
  /** The fence of a sender that has taken over. */
  newerFence?: number;
  /** The reason why the queue takes no rows now. */
  trouble?: Error;
}

/** The part of a queue that is needed. */
export type ShippingQueue = Pick<QueueAccess, 'name' | 'exec'>;

/** The rows of one queue on their way. */
interface Shipment {
  queue: ShippingQueue;
  sender: OnceSender;
  /** True if the queue took no rows at the last try. A row is to blame if the queue takes a call without it. */
  hadTrouble: boolean;
  shipped: Shipped;
}

/** A row, and its job. */
interface Decoded {
  row: OutboxEntry;
  entry: OnceEntry;
}

/** Sends rows of one queue, in their order. Stops at the first call that fails for another reason than a row. */
export async function ship(parts: Omit<Shipment, 'shipped'>, rows: readonly OutboxEntry[]): Promise<Shipped> {
  const shipped: Shipped = { sent: [], refused: [], held: new Set() };
  const entries = new Set<string>();
  for (const slice of slicesOf(rows)) {
    if (!(await shipSlice({ ...parts, shipped }, decode(slice, entries, shipped)))) {
      break;
    }
  }
  return shipped;
}

/** Returns the jobs of rows. Refuses each row that is wrong, or whose entry another row of this turn has. */
function decode(rows: readonly OutboxEntry[], entries: Set<string>, shipped: Shipped): Decoded[] {
  return rows.flatMap((row) => {
    if (isHeld(row, shipped)) {
      return [];
    }
    try {
      const entry = entryOf(row);
      if (entries.has(row.entry)) {
        throw new InvalidOptionError('entry', 'text that no other row has', show(row.entry));
      }
      entries.add(row.entry);
      return [{ row, entry }];
    } catch (error) {
      refuse(row, (error as Error).message, false, shipped);
      return [];
    }
  });
}

/** Returns whether a row waits for an earlier one of its group, which was not added. */
function isHeld({ group }: OutboxEntry, { held }: Shipped): boolean {
  return group !== undefined && held.has(group);
}

/** Returns whether the next slice may be sent. */
async function shipSlice(shipment: Shipment, decoded: readonly Decoded[]): Promise<boolean> {
  const { queue, sender, shipped } = shipment;
  if (decoded.length === 0) {
    return true;
  }
  try {
    const entries = decoded.map(({ entry }) => entry);
    const reply = await queue.exec((calls) => calls.once.enqueue({ sender, entries }));
    if ('newerFence' in reply) {
      shipped.newerFence = reply.newerFence;
      return false;
    }
    decoded.forEach(({ row }, i) => note(queue.name, row, reply.replies[i]!, shipped));
    return true;
  } catch (error) {
    if (!(await isOfRows(error as Error, shipment))) {
      shipped.trouble = error as Error;
      return false;
    }
    if (decoded.length > 1) {
      return shipOneByOne(shipment, decoded);
    }
    refuse(decoded[0]!.row, (error as Error).message, false, shipped);
    return true;
  }
}

/** Sends the rows of a slice alone, because one of them made its call fail. */
async function shipOneByOne(shipment: Shipment, rows: readonly Decoded[]): Promise<boolean> {
  for (const each of rows) {
    if (!isHeld(each.row, shipment.shipped) && !(await shipSlice(shipment, [each]))) {
      return false;
    }
  }
  return true;
}

/** Returns whether a call failed because of its rows. One is in the clear, the script failed, or Redis does not take them. */
async function isOfRows(error: Error, shipment: Shipment): Promise<boolean> {
  const { name, message } = error;
  if (error instanceof EncryptedQueueError) {
    return true;
  }
  if (OF_QUEUE.test(message)) {
    return false;
  }
  if (name === 'ReplyError' && /\bscript: [0-9a-f]{40}\b/.test(message)) {
    return true;
  }
  return shipment.hadTrouble && takesCalls(shipment);
}

/** Returns whether the queue takes a call without rows. */
async function takesCalls({ queue, sender }: Shipment): Promise<boolean> {
  try {
    await queue.exec((calls) => calls.once.enqueue({ sender, entries: [] }));
    return true;
  } catch {
    return false;
  }
}

function refuse(row: OutboxEntry, reason: string, isFull: boolean, shipped: Shipped): void {
  shipped.refused.push({ row, reason, isFull });
  if (row.group !== undefined) {
    shipped.held.add(row.group);
  }
}

function note(queue: string, row: OutboxEntry, reply: OnceReply, shipped: Shipped): void {
  if (reply.outcome === 'refused') {
    const reason = faultOf(reply.reason, queue, `outbox row ${row.seq}`).message;
    refuse(row, reason, false, shipped);
  } else if (reply.outcome === 'broken') {
    refuse(row, reply.message, false, shipped);
  } else if ('full' in reply && reply.full) {
    const { group, limit, unit } = reply.full;
    const where = group === undefined ? `the queue ${queue}` : `the group ${group} of ${queue}`;
    refuse(row, `${where} is full: it holds ${limit} ${unit}`, true, shipped);
  } else if (reply.outcome !== 'held') {
    shipped.sent.push(row);
  }
}

function slicesOf(rows: readonly OutboxEntry[]): OutboxEntry[][] {
  const slices: OutboxEntry[][] = [];
  let length = MOST_LENGTH;
  for (const row of rows) {
    length += row.payload?.length ?? 0;
    const last = slices.at(-1);
    if (last && last.length < MOST_JOBS && length <= MOST_LENGTH) {
      last.push(row);
    } else {
      slices.push([row]);
      length = row.payload?.length ?? 0;
    }
  }
  return slices;
}
