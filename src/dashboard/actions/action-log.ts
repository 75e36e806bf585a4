import { Inject, Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import type { ActionLogEntry } from '../views/views.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';

const SHOWN = 100;

/** Keeps in Redis who did what to how many jobs, in a capped stream for each queue. The times are those of Redis. */
@Injectable()
export class ActionLog {
  constructor(@Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions) {}

  async add(queue: JobQueue, entry: Omit<ActionLogEntry, 'at' | 'queue'>): Promise<void> {
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const { user, action, subject, count } = entry;
    const fields = ['user', user, 'action', action, 'subject', subject.slice(0, 500), 'count', String(count)];
    await ask(() => client.xadd(keys.actions, 'MAXLEN', '~', this.options.actionLogCap, '*', ...fields));
  }

  /** Returns the latest entries, newest first. */
  async list(queue: JobQueue): Promise<ActionLogEntry[]> {
    const { client, keys, ask } = await redisWithAllKeys(queue);
    const entries = await ask(() => client.xrevrange(keys.actions, '+', '-', 'COUNT', SHOWN));
    return entries.map(([id, fields]) => decode(queue.name, id, fields));
  }
}

function decode(queue: string, id: string, fields: readonly string[]): ActionLogEntry {
  const value = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  return {
    at: Number(id.split('-')[0]),
    queue,
    user: value('user'),
    action: value('action'),
    subject: value('subject'),
    count: Number(value('count')),
  };
}
