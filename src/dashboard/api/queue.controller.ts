// The routes of one queue: its figures, its limits, and the profile of one of its jobs.
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { limitChangesInWords } from '../../inspect/limits-in-words.js';
import { onQueue } from '../../queue/actions/noted-action.js';
import { limitChangesSchema } from '../../queue/model/limits.js';
import { PROFILE_ENDINGS, type ProfileRecord } from '../../queue/model/profile.js';
import { HistoryCache, historyView } from '../live/history-cache.js';
import type { HistoryView } from '../views/views.js';
import type { TextFile } from '../views/job-file.js';
import {
  queueName,
  Reads,
  Routes,
  type QueueCall,
  Changes,
  type ChangeCall,
  type Outcome,
  Downloads,
} from './route.js';

const historySchema = z.object({
  queue: queueName,
  hours: z.enum(['1', '24', '72'], { error: 'expected 1, 24 or 72' }).default('1'),
});

/** The figures of a queue for the charts. */
@Injectable()
export class HistoryController extends Routes {
  constructor(private readonly history: HistoryCache) {
    super();
  }

  @Reads('api/history', historySchema)
  async read({ hours }: z.output<typeof historySchema>, { queue }: QueueCall): Promise<HistoryView> {
    return historyView(await this.history.read(queue, Number(hours) as 1 | 24 | 72));
  }
}

const limitsSchema = z.strictObject({
  queue: queueName,
  /** null clears all that was set. */
  limits: limitChangesSchema.nullable(),
});

/** Changes and clears the limits of a queue for the whole fleet. */
@Injectable()
export class LimitsController extends Routes {
  @Changes('api/queue/limits', limitsSchema, {
    logs: ({ limits }) => (limits ? onQueue('limits', limitChangesInWords(limits)) : onQueue('clear-limits')),
  })
  async set({ limits }: z.output<typeof limitsSchema>, { queue }: ChangeCall): Promise<Outcome> {
    await (limits ? queue.limits.change(limits) : queue.limits.clear());
    return { done: 1 };
  }
}

const queueSchema = z.object({ queue: queueName });
const requestSchema = z.strictObject({ queue: queueName, kind: z.enum(['cpu', 'heap']) });

/** Returns the permissions of who sees a profile. */
const needs = (queue: string) => [
  { action: 'view' as const, queue },
  { action: 'profile' as const, queue },
];

/** Asks for the profile of a job, and serves it. */
@Injectable()
export class ProfileController extends Routes {
  @Changes('api/queue/profile', requestSchema, { logs: ({ kind }) => onQueue('profile', `kind ${kind}`) })
  async request({ kind }: z.output<typeof requestSchema>, { queue }: ChangeCall): Promise<Outcome> {
    await queue.profiles.request({ kind });
    return { done: 1 };
  }

  @Reads('api/queue/profile', queueSchema, ({ queue }) => needs(queue))
  async profile(_: z.output<typeof queueSchema>, { queue }: QueueCall): Promise<{ profile: ProfileRecord | null }> {
    return { profile: await queue.profiles.get() };
  }

  @Downloads('api/queue/profile/file', queueSchema, ({ queue }) => needs(queue))
  async file(_: z.output<typeof queueSchema>, { queue }: QueueCall): Promise<TextFile> {
    const { record, json } = await queue.profiles.download();
    return { name: `${queue.name}.${PROFILE_ENDINGS[record.kind]}`, type: 'application/json', text: json };
  }
}
