// Sends the rows of one queue to Redis.
import { faultOf } from '../../queue/store/enqueue-call.js';
import type { QueueAccess } from '../../queue/store/queue-store.js';
import type { OnceReply, OnceSender } from '../../queue/store/verbs/once-verbs.js';
import type { OutboxEntry } from '../dialects/dialect.js';
import { entryOf } from './outbox-row.js';

/** The most jobs and characters of one call, which must not block the server. */
const MOST_JOBS = 500;
const MOST_LENGTH = 1_000_000;

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

/** Sends rows of one queue, in their order. Stops at the first call that fails for another reason than a row. */
export async function ship(
  queue: ShippingQueue,
  sender: OnceSender,
  rows: readonly OutboxEntry[],
): Promise<Shipped> {
  const shipped: Shipped = { sent: [], refused: [], held: new Set() };
  for (const slice of slicesOf(rows)) {
    if (!(await shipSlice(queue, sender, slice, shipped))) {
      break;
    }
  }
  return shipped;
}

/** Returns whether the next slice may be sent. */
async function shipSlice(
  queue: ShippingQueue,
  sender: OnceSender,
  slice: readonly OutboxEntry[],
  shipped: Shipped,
): Promise<boolean> {
  const rows = slice.filter(({ group }) => group === undefined || !shipped.held.has(group));
  if (rows.length === 0) {
    return true;
  }
  try {
    const entries = rows.map(entryOf);
    const reply = await queue.exec((calls) => calls.once.enqueue(sender, entries));
    if ('newerFence' in reply) {
      shipped.newerFence = reply.newerFence;
      return false;
    }
    rows.forEach((row, i) => note(queue.name, row, reply.replies[i]!, shipped));
    return true;
  } catch (error) {
    if (!isOfRow(error as Error)) {
      shipped.trouble = error as Error;
      return false;
    }
    if (rows.length > 1) {
      return shipOneByOne(queue, sender, rows, shipped);
    }
    refuse(rows[0]!, (error as Error).message, false, shipped);
    return true;
  }
}

/** Sends the rows of a slice alone, because one of them made its call fail. */
async function shipOneByOne(...[queue, sender, rows, shipped]: Parameters<typeof shipSlice>): Promise<boolean> {
  for (const row of rows) {
    if (!(await shipSlice(queue, sender, [row], shipped))) {
      return false;
    }
  }
  return true;
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
  } else if ('full' in reply && reply.full) {
    const { group, limit, unit } = reply.full;
    const where = group === undefined ? `the queue ${queue}` : `the group ${group} of ${queue}`;
    refuse(row, `${where} is full: it holds ${limit} ${unit}`, true, shipped);
  } else if (reply.outcome !== 'held') {
    shipped.sent.push(row);
  }
}

/** Returns whether an error may come from one row: its content failed in the script, or it cannot be read. */
function isOfRow(error: Error): boolean {
  const isOfScript = error.name === 'ReplyError' && /\bscript: [0-9a-f]{40}\b/.test(error.message);
  return error instanceof SyntaxError || (isOfScript && !/WRONGTYPE|OOM|READONLY/.test(error.message));
}

function slicesOf(rows: readonly OutboxEntry[]): OutboxEntry[][] {
  const slices: OutboxEntry[][] = [];
  let length = MOST_LENGTH;
  for (const row of rows) {
    length += row.payload.length;
    const last = slices.at(-1);
    if (last && last.length < MOST_JOBS && length <= MOST_LENGTH) {
      last.push(row);
    } else {
      slices.push([row]);
      length = row.payload.length;
    }
  }
  return slices;
}
