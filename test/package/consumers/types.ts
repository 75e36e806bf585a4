// Every entry point, compiled with skipLibCheck: false. A client of another copy of ioredis is accepted as one of ours.
import { expect as jestExpect } from '@jest/globals';
import * as main from 'nest-job-queue';
import * as core from 'nest-job-queue/core';
import * as dashboard from 'nest-job-queue/dashboard';
import * as health from 'nest-job-queue/health';
import * as metrics from 'nest-job-queue/metrics';
import * as testing from 'nest-job-queue/testing';
import 'nest-job-queue/testing/jest';
import * as tracing from 'nest-job-queue/tracing';
import * as workers from 'nest-job-queue/workers';
import { Redis as OtherRedis } from 'other-ioredis';

export const entries = [main, core, dashboard, health, metrics, testing, tracing, workers];
export const make = (client: OtherRedis): core.JobQueue => new core.JobQueue(client, 'typed');
export const forRoot = (client: OtherRedis) => main.JobQueueModule.forRoot({ redis: client });
export const inJest = (queue: testing.JobQueueTesting): void =>
  jestExpect(queue).not.toHaveEnqueued('email', { to: 'ada@example.com' });
