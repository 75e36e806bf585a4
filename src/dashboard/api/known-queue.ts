import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import type { JobQueue } from '../../queue/job-queue.js';
import { JOB_STATUSES } from '../../queue/model/job.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { ShownQueues } from '../shown-queues.js';

export const stateSchema = z.enum(JOB_STATUSES, { error: `expected ${JOB_STATUSES.join(', ')}` });
export const queueName = z.string({ error: 'expected the name of a queue' });
export const jobId = z
  .string({ error: 'expected a job id' })
  .min(1, 'expected a job id')
  .max(1_000, 'expected a job id');

export const cursor = z.string({ error: 'expected the cursor of a page' }).max(2_000).optional();

/** Returns a whole number in a query. */
export const queryCount = (most: number) =>
  z.coerce.number({ error: 'expected a whole number' }).int('expected a whole number').min(0).max(most);

/**
 * Checks the input of a request.
 *
 * @throws InvalidOptionError that names the field
 */
export function checkInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  return checkOptions('request', schema, input ?? {});
}

/** Finds the queues that the dashboard shows. A request cannot create another one. */
@Injectable()
export class KnownQueues {
  constructor(private readonly queues: ShownQueues) {}

  /** @throws NotFoundException */
  async find(name: string): Promise<JobQueue> {
    const queue = await this.queues.find(name);
    if (!queue) {
      throw new NotFoundException(
        'This dashboard shows no queue of that name. Its name may be misspelled, or all its jobs are gone.',
      );
    }
    return queue;
  }

  /** Returns the shards of a queue. @throws NotFoundException */
  async findShards(name: string): Promise<JobQueue[]> {
    const queue = await this.find(name);
    const shards = this.queues.shardsOf(name);
    return shards.length === 0 ? [queue] : shards.map((shard) => this.queues.get(shard));
  }
}
