// The dashboard in an app whose options come from a factory, whose guard injects, and whose routes have versions.
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Module,
  VersioningType,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type VersioningOptions,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { JobQueueModule } from 'nest-job-queue';
import { JobQueueDashboardModule, type JobQueueDashboardAsyncOptions } from 'nest-job-queue/dashboard';
import { KeptLog } from '../nest/app.js';
import { testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { ask, startDashboard, type Platform } from './dashboard-app.js';

@Injectable()
class Passwords {
  readonly right: string = 'open sesame';
}

@Module({ providers: [Passwords], exports: [Passwords] })
class PasswordModule {}

@Injectable()
class PasswordGuard implements CanActivate {
  constructor(private readonly passwords: Passwords) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return request.headers['x-password'] === this.passwords.right;
  }
}

@Controller({ path: 'orders', version: '2' })
class OrdersController {
  @Get()
  list(): string[] {
    return [];
  }
}

interface Versions {
  where: string;
  options: VersioningOptions;
  orders: string;
  headers: Record<string, string>;
}

const VERSIONS: Versions[] = [
  { where: 'in the path', options: { type: VersioningType.URI }, orders: '/shop/v2/orders', headers: {} },
  {
    where: 'in a header',
    options: { type: VersioningType.HEADER, header: 'x-version' },
    orders: '/shop/orders',
    headers: { 'x-version': '2' },
  },
];

let app: INestApplication | undefined;
afterEach(() => app?.close());

describe.each<Platform>(['express', 'fastify'])('on %s', (platform) => {
  const back = { text: 'Admin', href: '/admin' };

  it.each(VERSIONS)(
    'is at its path beside routes with versions $where, behind a guard that injects',
    async (each) => {
      const { options, orders, headers } = each;
      const name = uniqueQueueName('mail');
      @Module({
        imports: [
          JobQueueModule.forRoot({ redis: testRedisUrl(), worker: false, maintenance: false }),
          JobQueueDashboardModule.forRootAsync({
            path: 'admin/queues',
            guards: [PasswordGuard],
            imports: [PasswordModule],
            inject: [Passwords],
            useFactory: ({ right }: Passwords) =>
              Promise.resolve({ queues: [name], title: 'Our queues', back, readOnly: right.length > 0 }),
          }),
        ],
        controllers: [OrdersController],
      })
      class AppModule {}
      const compiled = await Test.createTestingModule({ imports: [AppModule] })
        .setLogger(new KeptLog())
        .compile();
      app = compiled.createNestApplication(platform === 'express' ? new ExpressAdapter() : new FastifyAdapter());
      app.setGlobalPrefix('shop');
      app.enableVersioning(options);
      await app.listen(0, '127.0.0.1');
      const root = new URL(await app.getUrl()).origin;
      expect((await ask(root + orders, { headers })).status).toBe(200);
      const url = `${root}/shop/admin/queues`;
      const sesame = { 'x-password': 'open sesame' };
      for (const path of ['', '/api/session', '/api/overview', `/api/jobs?queue=${name}&state=failed`]) {
        expect([path, (await ask(url + path, {})).status]).toEqual([path, 403]);
        expect([path, (await ask(url + path, { headers: sesame })).status]).toEqual([path, 200]);
      }
      const { body } = await ask(`${url}/api/session`, { headers: { ...sesame, ...headers } });
      expect(body).toMatchObject({ title: 'Our queues', back, readOnly: true, actions: ['view'] });
    },
  );
});

it('names the import that is missing where an app imports the bare class', async () => {
  const imports = [JobQueueModule.forRoot({ redis: testRedisUrl(), worker: false }), JobQueueDashboardModule];
  await expect(Test.createTestingModule({ imports }).compile()).rejects.toThrow(
    'imports: expected JobQueueDashboardModule.forRoot() or JobQueueDashboardModule.forRootAsync(), ' +
      'found JobQueueDashboardModule alone.',
  );
});

it.each<[string, unknown, RegExp]>([
  ...['javascript:alert(1)', '//elsewhere.example', '/\\elsewhere.example', 'admin'].map(
    (href): [string, unknown, RegExp] => [
      `a way back to ${href}`,
      { useFactory: () => ({ back: { text: 'Admin', href } }) },
      /^JobQueueDashboardModule\.back\.href: expected a path such as '\/admin', or an http address/,
    ],
  ),
  [
    'a factory that returns nothing',
    { useFactory: () => undefined },
    /^JobQueueDashboardModule: expected an object of dashboard options, found undefined\.$/,
  ],
  [
    'no factory',
    { guards: [] },
    /^JobQueueDashboardModule\.forRootAsync\.useFactory: expected a function that returns the options, found undefined\.$/,
  ],
  [
    'an option beside the factory',
    { readOnly: true, useFactory: () => ({}) },
    /^JobQueueDashboardModule\.forRootAsync\.readOnly: expected no such option here, found "readOnly"\. Return it from useFactory\.$/,
  ],
])('forRootAsync refuses %s, which would serve the defaults', async (_, options, message) => {
  const boot = async () => {
    const dashboard = JobQueueDashboardModule.forRootAsync(options as JobQueueDashboardAsyncOptions);
    const imports = [JobQueueModule.forRoot({ redis: testRedisUrl(), worker: false }), dashboard];
    await Test.createTestingModule({ imports }).compile();
  };
  await expect(boot()).rejects.toThrow(message);
});

it('refuses two servers of one name', () => {
  const servers = ['queues/eu', 'queues/us'].map((path) => ({ name: 'EU', path }));
  expect(() => JobQueueDashboardModule.forRoot({ servers })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('servers') }),
  );
});

describe.each<Platform>(['express', 'fastify'])(
  'with a global prefix that leaves out the dashboard, on %s',
  (platform) => {
    const start = (exclude: string[]) =>
      startDashboard({
        platform,
        jobs: { worker: false, maintenance: false },
        dashboard: { path: 'ops/queues', allowRemote: false },
        prepare: (nest) => nest.setGlobalPrefix('api', { exclude }),
      });

    it('the link of the log is without the prefix', async () => {
      const { log, url } = await start(['ops/queues', 'ops/queues/{*path}']);
      const [, link] = / (http\S+)\?token=/.exec(log.lines.join('\n'))!;
      expect(link).toBe(url);
      const { searchParams } = new URL(/http\S+\?token=\S+/.exec(log.lines.join('\n'))![0]);
      const headers = { authorization: `Bearer ${searchParams.get('token')!}` };
      const html = await (await fetch(url, { headers })).text();
      const [, script] = /src="([^"]+\.js)"/.exec(html)!;
      const base = new URL(/<base href="([^"]+)"/.exec(html)?.[1] ?? '', url);
      expect((await fetch(new URL(script!, base), { headers })).status).toBe(200);
      expect((await fetch(`${url}/api/session`, { headers })).status).toBe(200);
    });

    it.each([[['ops/queues']], [['ops/queues/{*path}']], [['ops/queues', 'ops/queues/assets/:name']]])(
      'no app starts whose page would be white, because it leaves out %j alone',
      async (exclude) => {
        await expect(start(exclude)).rejects.toThrow(
          /^setGlobalPrefix\.exclude: expected \["ops\/queues", "ops\/queues\/\{\*path\}"\] for the dashboard, or none of both, found \d+ of its \d+ routes excluded\.$/,
        );
      },
    );
  },
);
