// An app with a dashboard, on Express or on Fastify, that listens on a free port.
import { afterEach } from '@jest/globals';
import { Module, type INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { JobQueueModule, JobQueueService, type JobQueue, type JobQueueModuleOptions } from 'nest-job-queue';
import { JobQueueDashboardModule, type DashboardMount, type DashboardOptions } from 'nest-job-queue/dashboard';
import { KeptLog } from '../nest/app.js';
import { RETRIES_AT_ONCE } from '../support/queue/retries.js';
import { testRedisUrl } from '../support/redis/redis.js';

export type Platform = 'express' | 'fastify';

export interface DashboardApp {
  app: INestApplication;
  url: string;
  log: KeptLog;
  jobs: JobQueueService;
  queue(name: string): JobQueue;
  /** @typeParam Body what the route returns */
  get<Body = Record<string, unknown>>(path: string, headers?: Record<string, string>): Promise<Reply<Body>>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
}

export interface Reply<Body = Record<string, unknown>> {
  status: number;
  body: Body;
  headers: Headers;
}

interface Setup {
  platform?: Platform;
  /** In place of the usual one of the platform. */
  adapter?: FastifyAdapter;
  dashboard?: DashboardMount & DashboardOptions;
  jobs?: JobQueueModuleOptions;
  providers?: NonNullable<Parameters<typeof Test.createTestingModule>[0]['providers']>;
  prefix?: string;
  /** A socket file in place of a free port. */
  listen?: string;
  /** Prepares the app before it listens. */
  prepare?(app: INestApplication): void;
}

const open = new Set<INestApplication>();

afterEach(async () => {
  await Promise.all([...open].map((app) => app.close()));
  open.clear();
});

export async function startDashboard(setup: Setup = {}): Promise<DashboardApp> {
  const { platform = 'express', adapter, dashboard, jobs, providers = [], prefix, listen, prepare } = setup;
  @Module({
    imports: [
      JobQueueModule.forRoot({ redis: testRedisUrl(), ...RETRIES_AT_ONCE, ...jobs }),
      JobQueueDashboardModule.forRoot({
        allowRemote: dashboard?.guards === undefined,
        otherQueues: false, // other tests share the server
        ...dashboard,
      }),
    ],
    providers,
  })
  class TestedModule {}
  const log = new KeptLog();
  const compiled = await Test.createTestingModule({ imports: [TestedModule] })
    .setLogger(log)
    .compile();
  const app = compiled.createNestApplication(
    adapter ?? (platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()),
  );
  open.add(app);
  if (prefix !== undefined) {
    app.setGlobalPrefix(prefix);
  }
  prepare?.(app);
  await (listen === undefined ? app.listen(0, '127.0.0.1') : app.listen(listen));
  const { port } = app.getHttpServer().address() as { port: number };
  const root = `http://127.0.0.1:${port}`;
  const url = `${root}/${prefix === undefined ? '' : `${prefix}/`}${dashboard?.path ?? 'queues'}`;
  const service = app.get(JobQueueService);
  return {
    app,
    url,
    log,
    jobs: service,
    queue: (name) => service.queue(name),
    get: (path, headers = {}) => ask(url + path, { headers }),
    post: (path, body, headers = {}) =>
      ask(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1', ...headers },
        body: JSON.stringify(body),
      }),
  };
}

export async function ask<Body = Record<string, unknown>>(url: string, init: RequestInit): Promise<Reply<Body>> {
  const response = await fetch(url, init);
  const text = await response.text();
  const json = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    body: (json ? JSON.parse(text) : { text }) as Body,
    headers: response.headers,
  };
}
