import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { onQueue } from '../../queue/actions/noted-action.js';
import { limitChangesSchema } from '../../queue/model/limits.js';
import { limitChangesInWords } from '../../inspect/limits-in-words.js';
import { queueName } from './known-queue.js';
import { Changes, Routes } from './route.js';
import type { ChangeCall, Outcome } from './route-runner.js';

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
