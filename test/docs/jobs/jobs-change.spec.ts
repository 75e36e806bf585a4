// The examples on changes from outside, checkpoints and final failures, as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { JobQueueService } from 'nest-job-queue';
import { eventually } from '../../support/faults/wait.js';
import { example, handlerOf, service, stateOf } from './jobs-setup.js';

it('change', async () => {
  const { change } = await example<{ change: (jobs: JobQueueService, id: string) => Promise<string[]> }>('change');
  const jobs = await service();
  const { id } = await jobs.enqueue('invoice', { number: 7 }, { delayMs: 3_600_000 });
  expect(await change(jobs, id)).toEqual(['pending', 'updated', 'updated']);
  expect(await jobs.get('invoice', id)).toMatchObject({
    status: 'pending',
    priority: 100,
    payload: { number: 8 },
  });
  expect(await change(jobs, 'none')).toEqual(['missing', 'missing', 'missing']);
});

it('checkpoint', async () => {
  const { MailingHandler } = await example<{ MailingHandler: Type<{ sent: string[] }> }>('checkpoint');
  const jobs = await service();
  const queue = jobs.queue('mailing');
  const { id } = await jobs.enqueue('mailing', { to: ['a', 'b', 'c'] });
  const job = (await queue.claim())!;
  const state = stateOf('mailing');
  await state.run(state.scripts.checkpoint({ claim: job, checkpoint: '2' }));
  await queue.release(job);
  const handler = new MailingHandler();
  const worker = await service({ provide: MailingHandler, useValue: handler });
  await worker.result('mailing', id);
  expect(handler.sent).toEqual(['c']);
});

it('steps', async () => {
  const { Bank, Mailer, OrderHandler } = await example<Record<'Bank' | 'Mailer' | 'OrderHandler', Type>>('steps');
  const keys: string[] = [];
  const sent: string[] = [];
  const bank = { charge: async (_: unknown, key: string) => ({ receipt: `receipt ${keys.push(key)}` }) };
  const mailer = {
    send: async (receipt: string) => {
      if (sent.push(receipt) === 1) throw new Error('the mail server restarts');
    },
  };
  const jobs = await service(
    OrderHandler,
    { provide: Bank, useValue: bank },
    { provide: Mailer, useValue: mailer },
  );
  const job = await jobs.enqueue('order', { id: '7', amount: 1 }, { backoff: 0 });
  await job.result();
  expect([keys, sent]).toEqual([[`order:${job.id}:charge`], ['receipt 1', 'receipt 1']]);
  expect((await job.get())!.steps).toMatchObject([
    { name: 'charge', attempt: 1 },
    { name: 'mail', attempt: 2 },
  ]);
});

it('final-failures', async () => {
  const { Refunds } = await example<{ Refunds: Type<{ refunded: string[] }> }>('final-failures');
  const refunds = new Refunds();
  const failing = handlerOf('charge', () => {
    throw new Error('no card');
  });
  const jobs = await service(failing, { provide: Refunds, useValue: refunds });
  await jobs.enqueue('charge', { card: '7' });
  await eventually(async () => refunds.refunded.length > 0);
  expect(refunds.refunded).toEqual(['7: no card']);
});
