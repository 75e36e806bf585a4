// JobQueueErrorFilter answers requests whose controller met an error of the library, on Express and on Fastify.
import { Controller, Get, Param } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { expect, it } from '@jest/globals';
import {
  EnqueueError,
  InvalidOptionError,
  InvalidPayloadError,
  JobNotFoundError,
  JobQueueErrorFilter,
  JobQueueService,
  JobTimeoutError,
  NonRetryableError,
} from 'nest-job-queue';
import request from 'supertest';
import { handlerOf, KeptLog, startApp } from '../app.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

const errors: Record<string, () => Error> = {
  payload: () => new InvalidPayloadError('payload.to', 'text', 'a number'),
  gone: () => new JobNotFoundError('a', 'email'),
  late: () => new JobTimeoutError('a', 1_000),
  away: () => new EnqueueError('unknown', 'email', ['a'], 'redis-7.internal:6379 did not reply'),
  wrong: () => new InvalidOptionError('delayMs', 'a number', 'text'),
};

@Controller('jobs')
class JobsController {
  @Get(':error')
  throwIt(@Param('error') error: string) {
    throw errors[error]!();
  }
}

const filter = { provide: APP_FILTER, useClass: JobQueueErrorFilter };

it.each([
  ['payload', 400, 'INVALID_PAYLOAD'],
  ['gone', 404, 'JOB_NOT_FOUND'],
  ['late', 504, 'JOB_TIMEOUT'],
  ['away', 503, 'ENQUEUE'],
])('answers %s by %i %s', async (path, status, code) => {
  const log = new KeptLog();
  const app = await startApp({ controllers: [JobsController], providers: [filter], log });
  const { body } = await request(app.getHttpServer() as never)
    .get(`/jobs/${path}`)
    .expect(status);
  expect(body).toEqual({ statusCode: status, error: code, message: expect.any(String) as unknown });
  expect(JSON.stringify(body)).not.toContain('redis-7');
  expect(log.lines.filter((line) => line.includes('Answered'))).toHaveLength(status === 503 ? 1 : 0);
});

it('leaves a fault of the app to Nest: 500 without its text, and a line in the log', async () => {
  const log = new KeptLog();
  const app = await startApp({ controllers: [JobsController], providers: [filter], log });
  const { body } = await request(app.getHttpServer() as never)
    .get('/jobs/wrong')
    .expect(500);
  expect(body).toEqual({ statusCode: 500, message: 'Internal server error' });
  expect(log.lines.join('\n')).toContain('delayMs: expected a number, found text');
});

it('answers on Fastify', async () => {
  const compiled = await Test.createTestingModule({ controllers: [JobsController], providers: [filter] }).compile();
  const app = compiled.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  await app.init();
  const reply = await app.inject('/jobs/gone');
  expect([reply.statusCode, reply.json<{ error: string }>().error]).toEqual([404, 'JOB_NOT_FOUND']);
  await app.close();
});

it('lets errors of jobs pass', async () => {
  const name = uniqueQueueName();
  const handler = handlerOf(name, () => {
    throw new NonRetryableError('no such customer');
  });
  const app = await startApp({ providers: [filter, handler] });
  const job = await app.get(JobQueueService).enqueue(name, 1);
  await expect(job.result({ timeoutMs: 10_000 })).rejects.toThrow('no such customer');
});
