import type { AuditEntry } from '../../model/job-event.js';
import type { JobStatus } from '../../model/job.js';
import type { RedisClient } from '../../redis/redis-client.js';
import type { CommandCall } from '../../transport/script-runner.js';
import type { AuditReader } from '../../store/verbs/audit-verbs.js';
import type { CallContext } from '../script-call.js';

type StreamEntry = [id: string, fields: string[]];

/** The fields of an entry; null for a deleted entry that a group still owes. */
type Found = readonly (StreamEntry | [id: string, fields: null])[];

/** Reads the stream by commands, not by scripts: a worker's Redis user needs no permission for them. */
export function auditCalls({ keys }: CallContext) {
  const command = commandOn(keys.audit);
  return {
    read(after: string, limit: number) {
      const from = after === '' ? '-' : `(${after}`;
      return command('auditRead', (client) => client.xrange(keys.audit, from, '+', 'COUNT', limit), decodeAll);
    },

    latest(limit: number) {
      return command('auditLatest', (client) => client.xrevrange(keys.audit, '+', '-', 'COUNT', limit), decodeAll);
    },

    take(reader: AuditReader, limit: number, idleMs: number) {
      return command('auditTake', (client) => take(client, keys.audit, reader, limit, idleMs), decodeAll);
    },

    acknowledge(group: string, entryIds: readonly string[]) {
      return command('auditAcknowledge', (client) => client.xack(keys.audit, group, ...entryIds), Number);
    },

    clear() {
      return command(
        'auditClear',
        (client) => client.unlink(keys.audit),
        (reply) => Number(reply) === 1,
      );
    },
  };
}

/** Returns a function that puts together a call of commands on one key. */
function commandOn(key: string) {
  return <Reply>(
    script: string,
    send: CommandCall<Reply>['send'],
    decode: (reply: unknown) => Reply,
  ): CommandCall<Reply> => ({ script, keys: [key], args: [], send, decode });
}

/** Takes entries. If the process dies before the next command, any consumer takes them after `idleMs`. */
async function take(
  client: RedisClient,
  stream: string,
  { group, consumer }: AuditReader,
  limit: number,
  idleMs: number,
): Promise<Found> {
  await client.xgroup('CREATE', stream, group, '0', 'MKSTREAM').catch((error: Error) => {
    if (!error.message.startsWith('BUSYGROUP')) {
      throw error;
    }
  });
  const [, left] = (await client.xautoclaim(stream, group, consumer, idleMs, '0', 'COUNT', limit)) as [
    string,
    Found,
  ];
  const room = limit - left.length;
  const read =
    room > 0 ? await client.xreadgroup('GROUP', group, consumer, 'COUNT', room, 'STREAMS', stream, '>') : [];
  const [[, fresh] = ['', []]] = (read ?? []) as [string, Found][];
  return [...left, ...fresh];
}

function decodeAll(reply: unknown): AuditEntry[] {
  return (reply as Found).flatMap(([entryId, fields]) => (fields ? [decodeEntry(entryId, fields)] : []));
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
