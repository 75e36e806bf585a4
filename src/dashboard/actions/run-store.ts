import { Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isRedisStore } from '../../queue/redis-store.js';
import { parseJson } from '../../queue/codec/stored-value.js';
import type { RunView } from '../views/views.js';
import { keptIn } from '../../queue/runtime/collections.js';

const KEPT_MS = 86_400_000;
/** A run that has written nothing for this long has lost its process, in ms. */
const SILENT_MS = 30_000;
const MOST = 50;

/** Keeps the runs in Redis, so that every replica shows them and can stop them. */
@Injectable()
export class RunStore {
  /** The fields of queues that are not on Redis, by name. */
  private readonly inMemory = new Map<string, Map<string, string>>();

  async write(queue: JobQueue, run: RunView): Promise<void> {
    if (!isRedisStore(queue.store)) return void this.kept(queue).set(run.id, JSON.stringify(run));
    const { client, keys, ask } = await redisWithAllKeys(queue);
    await ask(() => client.hset(keys.bulkRuns, run.id, JSON.stringify(run)));
    await ask(() => client.pexpire(keys.bulkRuns, KEPT_MS));
  }

  /** Asks the process that runs it to stop. */
  async requestStop(queue: JobQueue, id: string): Promise<void> {
    if (!isRedisStore(queue.store)) return void this.kept(queue).set(`stop:${id}`, '1');
    const { client, keys, ask } = await redisWithAllKeys(queue);
    await ask(() => client.hset(keys.bulkRuns, `stop:${id}`, '1'));
  }

  async stopRequested(queue: JobQueue, id: string): Promise<boolean> {
    if (!isRedisStore(queue.store)) return this.kept(queue).has(`stop:${id}`);
    const { client, keys, ask } = await redisWithAllKeys(queue);
    return (await ask(() => client.hexists(keys.bulkRuns, `stop:${id}`))) === 1;
  }

  /** Returns the runs of the last day, newest first. */
  async list(queue: JobQueue): Promise<RunView[]> {
    const stored = await this.fieldsOf(queue);
    if (Object.keys(stored).length === 0) {
      return [];
    }
    const nowMs = await serverNow(queue);
    const found = Object.entries(stored)
      .filter(([field]) => !field.startsWith('stop:'))
      .map(([, json]) => parseJson(json).value as RunView)
      .toSorted((a, b) => b.startedAt - a.startedAt);
    await this.forget(queue, found.slice(MOST));
    return found.slice(0, MOST).map((run) => asSeen(run, nowMs, stored[`stop:${run.id}`] !== undefined));
  }

  private async fieldsOf(queue: JobQueue): Promise<Record<string, string>> {
    if (!isRedisStore(queue.store)) return Object.fromEntries(this.kept(queue));
    const { client, keys, ask } = await redisWithAllKeys(queue);
    return ask(() => client.hgetall(keys.bulkRuns));
  }

  private kept({ name }: JobQueue): Map<string, string> {
    return keptIn(this.inMemory, name, () => new Map<string, string>());
  }

  private async forget(queue: JobQueue, old: readonly RunView[]): Promise<void> {
    if (old.length > 0) {
      const fields = old.flatMap(({ id }) => [id, `stop:${id}`]);
      if (!isRedisStore(queue.store)) return fields.forEach((field) => this.kept(queue).delete(field));
      const { client, keys, ask } = await redisWithAllKeys(queue);
      await ask(() => client.hdel(keys.bulkRuns, ...fields));
    }
  }
}

/** Returns the time of Redis, in epoch ms. */
export async function serverNow(queue: JobQueue): Promise<number> {
  return queue.exec((calls) => calls.now());
}

function asSeen(run: RunView, nowMs: number, stopping: boolean): RunView {
  if (run.status !== 'running') {
    return run;
  }
  return { ...run, status: nowMs - run.updatedAt > SILENT_MS ? 'interrupted' : stopping ? 'stopping' : 'running' };
}
