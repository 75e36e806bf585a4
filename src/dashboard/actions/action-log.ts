import { HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { InvalidOptionError, InvalidPayloadError } from '../../queue/errors/errors.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
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
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const { user, action, subject, count } = entry;
    const counted = ['count', count === null ? '' : String(count)];
    const fields = ['user', user, 'action', action, 'subject', startOf(subject, 500), ...counted];
    const id = await ask(() => client.xadd(keys.actions, 'MAXLEN', '~', this.options.actionLogCap, '*', ...fields));
    return String(id);
  }

  /** Returns the latest entries, newest first. */
  async list(queue: JobQueue): Promise<ActionLogEntry[]> {
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const entries = await ask(() => client.xrevrange(keys.actions, '+', '-', 'COUNT', SHOWN));
    return entries.map(([id, fields]) => decode(queue.name, id, fields));
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
