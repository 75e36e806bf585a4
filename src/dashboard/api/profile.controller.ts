import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { onQueue } from '../../queue/actions/noted-action.js';
import { PROFILE_ENDINGS, type ProfileRecord } from '../../queue/model/profile.js';
import type { TextFile } from '../views/job-file.js';
import { queueName } from './known-queue.js';
import { Changes, Downloads, Reads, Routes } from './route.js';
import type { ChangeCall, Outcome, QueueCall } from './route-runner.js';

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
