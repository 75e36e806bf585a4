// The service has what an app types daily. `queue(name)` has all other verbs, so that no verb stands twice.
import { expect, it } from '@jest/globals';
import { JobQueueService } from 'nest-job-queue';
import { methodsOf } from '../../support/queue/bad-arguments.js';

/** Does not compile without a public member, nor with one that the service lacks. */
const MEMBERS: Record<keyof JobQueueService, 'method' | 'part'> = {
  enqueue: 'method',
  enqueueMany: 'method',
  publish: 'method',
  batch: 'method',
  findBatch: 'method',
  get: 'method',
  result: 'method',
  stream: 'method',
  cancel: 'method',
  signal: 'method',
  pause: 'method',
  resume: 'method',
  queue: 'method',
  shards: 'method',
  shardOf: 'method',
  queueNames: 'method',
  limits: 'method',
  startWorkers: 'method',
  pauseWorker: 'method',
  resumeWorker: 'method',
  setConcurrency: 'method',
  drain: 'method',
  events: 'part',
  schedules: 'part',
  once: 'part',
  topics: 'part',
};

it('has these methods and no mirror of a further verb, which `queue(name)` has', () => {
  const methods = Object.entries(MEMBERS).flatMap(([name, kind]) => (kind === 'method' ? [name] : []));
  expect(methodsOf(JobQueueService.prototype).toSorted()).toEqual(methods.toSorted());
});
