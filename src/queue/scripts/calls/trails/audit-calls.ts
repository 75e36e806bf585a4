import type { AuditEntry } from '../../../model/job-event.js';
import type { JobStatus } from '../../../model/job.js';
import type { RedisClient } from '../../../redis/redis-client.js';
import type { AuditReader, AuditVerbs } from '../../../store/verbs/audit-verbs.js';
import { flagOf, listOf, rowsOf, wholeNumberOf } from '../../../replies/check-reply.js';
import { UnexpectedReply } from '../../../store/unexpected-reply.js';
import { type CallContext, command } from '../../script-call.js';

const ENTRY_ID = /^\d+-\d+$/;

/** Reads the stream by commands, not by scripts; see AuditVerbs. */
export function auditCalls({ keys: { audit } }: CallContext) {
  const keys = [audit];
  return {
    read(after, limit) {
      const from = after === '' ? '-' : `(${after}`;
      return command('auditRead', keys, (client) => client.xrange(audit, from, '+', 'COUNT', limit), decodeAll);
    },

    latest: (limit) =>
      command('auditLatest', keys, (client) => client.xrevrange(audit, '+', '-', 'COUNT', limit), decodeAll),

    take: (reader, limit, idleMs) =>
      command('auditTake', keys, (client) => take(client, audit, reader, limit, idleMs), decodeTaken),

    acknowledge: (group, entryIds) =>
      command('auditAcknowledge', keys, (client) => client.xack(audit, group, ...entryIds), wholeNumberOf),

    clear: () => command('auditClear', keys, (client) => client.unlink(audit), flagOf),
  } satisfies AuditVerbs;
}

/**
 * Takes entries. If the process dies before the next command, any consumer takes them after `idleMs`. Returns the
 * replies of both commands.
 */
async function take(
  client: RedisClient,
  stream: string,
  { group, consumer }: AuditReader,
  limit: number,
  idleMs: number,
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
