// Faults of a server of the test's own that pass: it refuses calls for a while.
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { eventually } from './wait.js';

/** A fault of a server, which ends when the test says so. */
export interface PassingFault {
  /** The first word of its replies. */
  readonly reply: string;
  begin(boss: Redis, client: Redis): Promise<unknown>;
  end(boss: Redis, client: Redis): Promise<unknown>;
}

const replicaOf = (boss: Redis, host: string, port: string) => boss.call('REPLICAOF', host, port);
const config = (boss: Redis, name: string, value: string) => boss.config('SET', name, value);

async function dumpOf(boss: Redis): Promise<string> {
  const [, dir] = (await boss.config('GET', 'dir')) as [string, string];
  return join(dir, 'dump.rdb');
}

/** Replies this to each script of a client, in place of its server. Returns the end of that. */
export function refuse(client: Redis, reply: string): () => void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command) => {
    if (!/^(eval|evalsha|hget)$/.test(command.name)) return send(command);
    command.reject(Object.assign(new Error(reply), { name: 'ReplyError' }));
    return command.promise;
  };
  return () => void Reflect.deleteProperty(client, 'sendCommand');
}

export const PASSING_FAULTS: readonly PassingFault[] = [
  {
    reply: 'READONLY',
    begin: (boss) => replicaOf(boss, '127.0.0.1', '1'),
    end: (boss) => replicaOf(boss, 'NO', 'ONE'),
  },
  {
    reply: 'MASTERDOWN',
    begin: async (boss) => {
      await config(boss, 'replica-serve-stale-data', 'no');
      await replicaOf(boss, '127.0.0.1', '1');
    },
    end: async (boss) => {
      await replicaOf(boss, 'NO', 'ONE');
      await config(boss, 'replica-serve-stale-data', 'yes');
    },
  },
  {
    reply: 'NOREPLICAS',
    begin: (boss) => config(boss, 'min-replicas-to-write', '1'),
    end: (boss) => config(boss, 'min-replicas-to-write', '0'),
  },
  {
    reply: 'BUSY',
    begin: async (boss) => {
      await config(boss, 'busy-reply-threshold', '1');
      const looping = boss.duplicate();
      looping.on('error', () => undefined);
      looping.eval('while true do end', 0).catch(() => looping.disconnect());
      for (let busy = false; !busy;) {
        busy = await boss.set('busy', '').then(
          () => false,
          (error: Error) => error.message.startsWith('BUSY'),
        );
      }
    },
    end: (boss) => boss.script('KILL'),
  },
  {
    reply: 'MISCONF',
    begin: async (boss) => {
      await rm(await dumpOf(boss), { force: true });
      await mkdir(await dumpOf(boss)); // a snapshot cannot replace a folder
      await config(boss, 'save', '3600 1');
      await boss.bgsave();
      await eventually(async () => (await boss.info('persistence')).includes('rdb_last_bgsave_status:err'));
    },
    end: async (boss) => {
      await rmdir(await dumpOf(boss));
      await config(boss, 'save', '');
      await boss.bgsave();
      await eventually(async () => (await boss.info('persistence')).includes('rdb_last_bgsave_status:ok'));
    },
  },
  {
    reply: 'LOADING',
    // A real server loads within a millisecond.
    begin: async (_, client) => refuse(client, 'LOADING Redis is loading the dataset in memory'),
    end: async (_, client) => Reflect.deleteProperty(client, 'sendCommand'),
  },
];
