// An app with a dashboard and queues in every condition, with its own Redis, for browser tests.
import { afterAll } from '@jest/globals';
import { Injectable, Module, type CanActivate, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  NonRetryableError,
  RecurringJob,
  redisAccess,
  type Job,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import { JobQueueDashboardModule, type DashboardMount, type DashboardOptions } from 'nest-job-queue/dashboard';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { KeptLog } from '../../nest/app.js';
import { startRedisServer } from '../../../scripts/redis/redis-server.mjs';
import type { OwnRedis } from '../redis/own-redis.js';

export type Platform = 'express' | 'fastify';

/** Takes the name of the user from a cookie, as a login would have put it there. */
@Injectable()
class CookieGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: { cookie?: string }; user?: unknown }>();
    const [, name] = /(?:^|; )user=(\w+)/.exec(request.headers.cookie ?? '') ?? [];
    request.user = { name: name ?? 'ops', role: name === 'viewer' ? 'viewer' : 'operator' };
    return true;
  }
}

const REFUSALS = ['502 Bad Gateway', 'connect ECONNREFUSED 10.0.0.7:443', 'Timeout after 5000 ms'];

/** Jobs that complete, that fail, and that run until they are released. */
export class Handlers {
  private letGo: (() => void)[] = [];

  @JobHandler('thumbnail', { concurrency: 4 })
  async thumbnail(job: Job<{ photo: string }>) {
    return { width: 320, height: 200, photo: job.payload.photo };
  }

  @JobHandler('webhook', { concurrency: 4, maxAttempts: 3, backoff: { type: 'fixed', delayMs: 1 } })
  async webhook(job: Job<{ order: number; fine?: boolean }>) {
    await job.log(`Sends order ${job.payload.order}`);
    await job.progress({ percent: 40 });
    if (job.payload.fine) return { status: 200 };
    throw new Error(REFUSALS[job.payload.order % REFUSALS.length]);
  }

  @JobHandler('video', { concurrency: 3 })
  async video(job: Job<{ title: string }>) {
    await job.progress({ percent: 65 });
    await job.log('Reads the first chapter');
    await new Promise<void>((resolve) => {
      this.letGo.push(resolve);
      job.signal.addEventListener('abort', () => resolve());
    });
    if (job.signal.aborted) throw new NonRetryableError('Stopped by the operator');
  }

  @JobHandler('page', { queue: 'book', maxAttempts: 1 })
  async page(job: Job<{ page: number }>) {
    if (job.payload.page !== 3) return { file: `page-${job.payload.page}.pdf` };
    const cause = new Error('The disk is full', { cause: new Error('ENOSPC: no space left on device') });
    throw new Error('Page 3 could not be printed', { cause });
  }

  @JobHandler('bind', { queue: 'book' })
  async bind() {
    return { pages: 5 };
  }

  @RecurringJob({ cron: '0 3 * * *', timeZone: 'Europe/Berlin' })
  @JobHandler('report')
  async report() {
    return 'done';
  }

  end(): void {
    this.letGo.forEach((resolve) => resolve());
  }
}

export class DashboardWorld {
  app!: INestApplication;
  url!: string;
  readonly handlers = new Handlers();

  constructor(
    readonly redis: OwnRedis,
    private readonly platform: Platform,
    private readonly dashboard: DashboardMount & DashboardOptions,
    private readonly settings: JobQueueModuleOptions,
    private readonly prepare: (app: INestApplication) => void,
  ) {}

  get jobs(): JobQueueService {
    return this.app.get(JobQueueService);
  }

  /** Starts the app; again at the same address where it was stopped. */
  async start(): Promise<void> {
    const { redis, dashboard, handlers, settings } = this;
    @Module({
      imports: [
        JobQueueModule.forRoot({ redis: redis.url, shutdownTimeoutMs: 500, version: '1.5.0', ...settings }),
        JobQueueDashboardModule.forRoot({
          guards: [CookieGuard],
          can: (action, { user }) => action === 'view' || (user as { role: string }).role === 'operator',
          queues: ['email', 'archive'],
          ...dashboard,
        }),
      ],
      providers: [{ provide: Handlers, useValue: handlers }],
    })
    class WorldModule {}
    const compiled = await Test.createTestingModule({ imports: [WorldModule] })
      .setLogger(new KeptLog())
      .compile();
    this.app = compiled.createNestApplication(
      this.platform === 'express' ? new ExpressAdapter() : new FastifyAdapter(),
    );
    this.prepare(this.app);
    await this.app.listen(this.url === undefined ? 0 : Number(new URL(this.url).port), '127.0.0.1');
    const { port } = this.app.getHttpServer().address() as { port: number };
    this.url = `http://127.0.0.1:${port}/queues`;
  }

  async stop(): Promise<void> {
    this.handlers.end();
    await this.app.close();
  }

  /** Writes the history of three days, as if the app had run that long. */
  async remember(...names: string[]): Promise<void> {
    const now = Date.now();
    const end = now - (now % 60_000) - 60_000;
    for (const [k, name] of names.entries()) {
      const { client } = await redisAccess(this.jobs.queue(name));
      const keys = new QueueKeys(name);
      const written = `${keys.history}-written`; // the app may close a minute of its own meanwhile
      const minutes = Array.from({ length: 72 * 60 }, (_, i) => end - (72 * 60 - 1 - i) * 60_000);
      for (let i = 0; i < minutes.length; i += 500) {
        await Promise.all(
          minutes.slice(i, i + 500).map((at) => client.xadd(written, String(at), ...minuteOf(at, end, k))),
        );
      }
      await client.rename(written, keys.history);
      await client.hset(keys.historyOpen, { since_ms: minutes[0]!, at_ms: end });
      await client.del(keys.historyMarks);
      await client.xadd(keys.historyMarks, `${end - 30 * 3_600_000}-0`, 'kind', 'deploy', 'version', '1.4.0');
      const [from, to] = [end - 9 * 3_600_000, end - 8.5 * 3_600_000];
      await client.xadd(keys.historyMarks, `${to}-0`, 'kind', 'outage', 'from', String(from));
      await client.xadd(keys.historyMarks, `${end - 25 * 60_000}-0`, 'kind', 'deploy', 'version', '1.5.0');
    }
  }

  /** Fills the queues: one flows, one fails, one is stuck, one is paused, one runs. */
  async fill(): Promise<void> {
    const { jobs } = this;
    await jobs.enqueueMany(
      'thumbnail',
      Array.from({ length: 40 }, (_, i) => ({ payload: { photo: `holiday-${i}.jpg`, width: 320 } })),
    );
    await jobs.enqueueMany(
      'webhook',
      Array.from({ length: 24 }, (_, i) => ({
        payload: { order: 20 + i, url: 'https://shop.example/hook', fine: i % 4 === 3 },
      })),
    );
    await jobs.enqueueMany(
      'email',
      Array.from({ length: 120 }, (_, i) => ({ payload: { to: `ada${i}@example.com`, subject: `Order ${i}` } })),
    );
    await jobs.enqueueMany(
      'email',
      Array.from({ length: 8 }, (_, i) => ({ payload: { to: `late${i}@example.com` }, delayMs: 3_600_000 })),
    );
    await jobs.enqueue('archive', { year: 2025 });
    await jobs.pause('archive');
    await this.fillGroups();
    await this.fillBatches();
    const cancelled = await jobs.enqueue('email', { to: 'nobody@example.com' });
    await jobs.cancel('email', cancelled.id);
  }

  /** Makes two groups of videos. One job of each runs, and others wait for it. */
  private async fillGroups(): Promise<void> {
    const { groups } = this.jobs.queue('video');
    await groups.set('studio-a', { maxRunning: 1, weight: 3 });
    await groups.set('studio-b', { maxRunning: 1 });
    const titles = ['The sea', 'The hills', 'The river', 'The town', 'The night'];
    await this.jobs.enqueueMany(
      'video',
      titles.map((title, i) => ({ payload: { title }, group: i % 2 === 0 ? 'studio-a' : 'studio-b' })),
    );
  }

  /**
   * Makes a batch whose follow-up ran despite a failed member, one with open members, and jobs that start after
   * another.
   */
  private async fillBatches(): Promise<void> {
    const { jobs } = this;
    for (const [id, delayMs] of [
      ['printed-book', 0],
      ['next-book', 3_600_000],
    ] as const) {
      const batch = jobs.batch({ id, finally: { name: 'bind', payload: { title: id } } });
      const pages = Array.from({ length: 5 }, (_, i) => ({
        payload: { page: i + 1 },
        ...(delayMs && { delayMs }),
      }));
      await batch.addMany('page', pages);
      await batch.seal();
    }
    const queue = { queue: 'book' };
    await jobs.enqueue('page', { page: 8 }, { id: 'cover', delayMs: 3_600_000, ...queue });
    await jobs.enqueue('page', { page: 9 }, { id: 'back', after: ['cover'], ...queue });
  }
}

/** Returns a minute of the history: more by day than by night, and slower since the last deploy. */
function minuteOf(at: number, end: number, k: number): string[] {
  const day = 1 + 0.6 * Math.sin((at / 86_400_000) * 2 * Math.PI);
  const ripple = 1 + 0.3 * Math.sin(at / 400_000 + k) + 0.15 * Math.sin(at / 90_000);
  const jobs = Math.round(240 * day * ripple * (k + 1));
  const failed = Math.round(jobs * (at > end - 25 * 60_000 ? 0.04 : 0.003));
  const slower = at > end - 25 * 60_000 ? 3 : 0;
  const times = (kind: number) =>
    [0, 1, 2, 3].map((i) => `${kind + slower + 2 * i}:${Math.ceil(jobs / 2 ** (2 * i + 1))}`).join(',');
  const depth = Math.round(12 * day * ripple);
  const counts = `${jobs},${jobs - failed},0,0,${failed},0`;
  return ['s', '1', 'n', counts, 'd', `${depth},4,${depth * 20}`, 'w', times(24), 'r', times(34)];
}

const worlds = new Set<DashboardWorld>();

afterAll(async () => {
  for (const world of worlds) {
    await world.stop(); // stops before its Redis, because a worker releases its running jobs
    await world.redis.stop();
  }
});

/** @param prepare changes the app before it listens */
export async function startWorld(
  dashboard: DashboardMount & DashboardOptions = {},
  platform: Platform = 'express',
  settings: JobQueueModuleOptions = {},
  prepare: (app: INestApplication) => void = () => undefined,
): Promise<DashboardWorld> {
  const redis = await startRedisServer({ quiet: true, args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const world = new DashboardWorld(redis, platform, dashboard, settings, prepare);
  await world.start();
  worlds.add(world);
  return world;
}
