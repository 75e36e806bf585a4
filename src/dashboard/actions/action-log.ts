import { HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { InvalidOptionError, InvalidPayloadError } from '../../queue/errors/errors.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isRedisStore } from '../../queue/redis-store.js';
import type { ActionLogEntry } from '../views/views.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import { startOf } from '../../queue/runtime/cut.js';

const SHOWN = 100;

/** An entry as its writer gives it. `count` is null until the deed has ended. */
type NewEntry = Omit<ActionLogEntry, 'at' | 'queue'>;

/** Keeps in Redis who did what to how many jobs, in a capped stream for each queue. The times are those of Redis. */
@Injectable()
export class ActionLog {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));

  /** The entries of queues that are not on Redis, by name. */
  private readonly inMemory = new Map<string, { id: string; entry: ActionLogEntry }[]>();
  private lastId = 0;

  constructor(@Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions) {}

  /**
   * Does the deed between two writes. The first entry has no count, and stays if the deed ends in doubt. The second
   * one replaces it and has the count. So there is no deed without an entry, whenever this process dies.
   */
  async record<Outcome extends { done: number }>(
    queue: JobQueue,
    entry: Omit<NewEntry, 'count'>,
    deed: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const begun = await this.add(queue, { ...entry, count: null });
    let outcome: Outcome;
    try {
      outcome = await deed();
    } catch (error) {
      if (isRefusal(error)) {
        await this.remove(queue, begun);
      }
      throw error;
    }
    await this.replace(queue, begun, { ...entry, count: outcome.done });
    return outcome;
  }

  /** Adds an entry. Returns its id. */
  async add(queue: JobQueue, entry: NewEntry): Promise<string> {
    if (!isRedisStore(queue.store)) return this.keep(queue, entry);
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const { user, action, subject, count } = entry;
    const counted = ['count', count === null ? '' : String(count)];
    const fields = ['user', user, 'action', action, 'subject', startOf(subject, 500), ...counted];
    const id = await ask(() => client.xadd(keys.actions, 'MAXLEN', '~', this.options.actionLogCap, '*', ...fields));
    return String(id);
  }

  /** Returns the latest entries, newest first. */
  async list(queue: JobQueue): Promise<ActionLogEntry[]> {
    if (!isRedisStore(queue.store)) return this.kept(queue).map(({ entry }) => entry);
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const entries = await ask(() => client.xrevrange(keys.actions, '+', '-', 'COUNT', SHOWN));
    return entries.map(([id, fields]) => decode(queue.name, id, fields));
  }

  private keep(queue: JobQueue, entry: NewEntry): string {
    const id = String(++this.lastId);
    const kept = { id, entry: { at: queue.store.clock.now(), queue: queue.name, ...entry } };
    this.inMemory.set(queue.name, [kept, ...this.kept(queue)].slice(0, SHOWN));
    return id;
  }

  private kept(queue: JobQueue) {
    return this.inMemory.get(queue.name) ?? [];
  }

  /** Replaces an entry. The deed is done, so a failure here is only logged. */
  private async replace(queue: JobQueue, id: string, entry: NewEntry): Promise<void> {
    try {
      await this.add(queue, entry);
      await this.remove(queue, id);
    } catch (error) {
      this.logger.warn(
        `Could not write to the action log of queue "${queue.name}" how many jobs "${entry.action}" changed: ` +
          (error as Error).message,
      );
    }
  }

  private async remove(queue: JobQueue, id: string): Promise<void> {
    if (!isRedisStore(queue.store)) {
      this.inMemory.set(
        queue.name,
        this.kept(queue).filter((each) => each.id !== id),
      );
      return;
    }
    const { client, keys, ask } = await redisWithAllKeys(queue);
    await ask(() => client.xdel(keys.actions, id));
  }
}

/** Returns whether the error means that nothing was changed. */
function isRefusal(error: unknown): boolean {
  return [HttpException, InvalidOptionError, InvalidPayloadError].some((type) => error instanceof type);
}

function decode(queue: string, id: string, fields: readonly string[]): ActionLogEntry {
  const value = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  return {
    at: Number(id.split('-')[0]),
    queue,
    user: value('user'),
    action: value('action'),
    subject: value('subject'),
    count: value('count') === '' ? null : Number(value('count')),
  };
}
