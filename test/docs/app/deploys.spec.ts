// docs/deploys.md: the schema with versions gives the handler one form.
import type { Type } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { JobQueueService, type JobDefinition } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';

it.each([[{ to: 'ada@example.com' }], [{ version: 2, to: ['ada@example.com'] }]])(
  'the handler gets a list of %j',
  async (payload) => {
    const { SendInvoice, SendInvoiceHandler } = await loadExample<{
      SendInvoice: JobDefinition;
      SendInvoiceHandler: Type;
    }>('deploys.md', 'versions');
    const app = await startApp({ jobs: { prefix: uniqueQueueName() }, providers: [SendInvoiceHandler] });
    const job = await app.get(JobQueueService).enqueue(SendInvoice, payload);
    expect(await job.result({ timeoutMs: 10_000 })).toBe('ada@example.com');
  },
);
