// The audit trail. It is a stream that commands read, not scripts.
import type { AuditEntry } from '../model/job-event.js';
import type { JobStatus } from '../model/job.js';
import type { RedisClient } from '../redis/redis-client.js';
import { flagOf, listOf, rowsOf, wholeNumberOf } from '../replies/check-reply.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { UnexpectedReply } from '../store/store-call.js';
import { command, each, number, text } from './verb.js';

const ENTRY_ID = /^\d+-\d+$/;

const keys = ({ audit }: QueueKeys) => [audit];

/** What a reader of the trail takes. Each entry goes to one consumer of its group. */
interface Taking {
  group: string;
  consumer: string;
  limit: number;
  idleMs: number;
}

export const AUDIT = {
  /** @param given.after the `entryId` of the entry after which to continue; '' for the first */
  read: command('auditRead', {
    keys,
    args: { after: text, limit: number },
    send: (client, { after, limit }, { audit }) =>
      client.xrange(audit, after === '' ? '-' : `(${after}`, '+', 'COUNT', limit),
    reply: decodeAll,
  }),

  /** Returns entries, newest first. */
  latest: command('auditLatest', {
    keys,
    args: { limit: number },
    send: (client, { limit }, { audit }) => client.xrevrange(audit, '+', '-', 'COUNT', limit),
    reply: decodeAll,
  }),

  /**
   * Returns first the entries that another consumer took longer than `idleMs` ago without acknowledging them, then new
   * ones.
   */
  take: command('auditTake', {
    keys,
    args: { group: text, consumer: text, limit: number, idleMs: number },
    send: (client, given, { audit }) => take(client, audit, given),
    reply: decodeTaken,
  }),

  /** Returns how many were the group's to acknowledge. */
  acknowledge: command('auditAcknowledge', {
    keys,
    args: { group: text, entryIds: each(text) },
    send: (client, { group, entryIds }, { audit }) => client.xack(audit, group, ...entryIds),
    reply: wholeNumberOf,
  }),

  /** Returns whether there was a trail. */
  clear: command('auditClear', {
    keys,
    send: (client, _, { audit }) => client.unlink(audit),
    reply: flagOf,
  }),
};

/**
 * Takes entries. If the process dies before the next command, any consumer takes them after `idleMs`. Returns the
 * replies of both commands.
 */
async function take(
  client: RedisClient,
  stream: string,
  { group, consumer, limit, idleMs }: Taking,
): Promise<unknown[]> {
  await client.xgroup('CREATE', stream, group, '0', 'MKSTREAM').catch((error: Error) => {
    if (!error.message.startsWith('BUSYGROUP')) {
      throw error;
    }
  });
  const left: unknown = await client.xautoclaim(stream, group, consumer, idleMs, '0', 'COUNT', limit);
  const owed: unknown = Array.isArray(left) ? left[1] : undefined;
  const room = Array.isArray(owed) ? limit - owed.length : 0;
  const fresh =
    room > 0 ? await client.xreadgroup('GROUP', group, consumer, 'COUNT', room, 'STREAMS', stream, '>') : null;
  return [left, fresh];
}

/** Decodes the replies of `take`. The second is null where nothing was read, else it has the one stream. */
function decodeTaken(replies: unknown): AuditEntry[] {
  const [left, fresh] = listOf(replies);
  const streams = fresh === null ? [] : listOf(fresh);
  return [...decodeAll(listOf(left)[1]), ...streams.flatMap((stream) => decodeAll(listOf(stream)[1]))];
}

function decodeAll(reply: unknown): AuditEntry[] {
  return listOf(reply).flatMap((entry) => {
    const [id, fields] = listOf(entry);
    if (typeof id !== 'string' || !ENTRY_ID.test(id)) {
      throw new UnexpectedReply('entries of a stream', reply);
    }
    return fields === null ? [] : [decodeEntry(id, rowsOf(fields, 2).flat())]; // a deleted entry that a group still owes
  });
}

function decodeEntry(entryId: string, fields: readonly string[]): AuditEntry {
  const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  const [from, to, worker, error] = ['from', 'to', 'worker', 'error'].map((name) => field(name) || undefined);
  return {
    entryId,
    jobId: field('id'),
    name: field('name'),
    transition: field('transition'),
    ...(from && { from: from as JobStatus }),
    ...(to && { to: to as JobStatus }),
    attempt: Number(field('attempt')),
    ...(worker && { worker }),
    ...(error && { error }),
    at: new Date(Number(field('at'))),
  };
}
