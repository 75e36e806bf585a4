// No header that another site can choose makes its page the dashboard's own.
import { request as send, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:http2';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { CanActivate, INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { JobQueueDashboardModule, type DashboardMount, type DashboardOptions } from 'nest-job-queue/dashboard';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard, type DashboardApp, type Platform } from '../dashboard-app.js';
import { someOf } from '../../support/run/samples.js';

const OFF = { worker: false, maintenance: false } as const;

/** A guard that lets in by the address of the network, which every browser inside of it has. */
class NetworkGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

interface Sent {
  status: number;
  text: string;
  headers: NodeJS.Dict<string | string[]>;
}

/** Sends a request with any header, also one that `fetch` would choose itself. */
async function ask(url: string, headers: OutgoingHttpHeaders, body?: string): Promise<Sent> {
  const isChange = body !== undefined;
  const sent = send(url, {
    method: isChange ? 'POST' : 'GET',
    agent: false,
    headers: { ...(isChange && { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' }), ...headers },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  return { status: response.statusCode!, text: await text(response), headers: response.headers };
}

/** Returns the cookie that a browser has once it opened the link of the log. */
async function cookieOf({ log, url }: DashboardApp): Promise<string> {
  const [, link] = / (http\S+\?token=\S+)/.exec(log.lines.join('\n'))!;
  const { headers } = await ask(link!, { host: new URL(url).host });
  return String(headers['set-cookie']).split(';')[0]!;
}

const CORS: [what: string, prepare: (app: INestApplication) => void][] = [
  ['without CORS', () => undefined],
  ['with CORS for all', (app) => app.enableCors()],
  ['with CORS for all, with credentials', (app) => app.enableCors({ origin: true, credentials: true })],
  [
    'with CORS by a pattern and for null',
    (app) => app.enableCors({ origin: [/example/, 'null'], credentials: true }),
  ],
];
type Door = 'guard' | 'link' | 'none';
const DOORS: Record<Door, DashboardMount> = {
  guard: { guards: [NetworkGuard] },
  link: { allowRemote: false },
  none: { allowRemote: true },
};
const ATTACKERS = ['http://evil.example', 'http://evil.internal', 'https://app.internal.evil.example', 'null'];
/** Names that servers and proxies take for the host that was asked. */
const NAMES = ['x-forwarded-host', 'x-original-host', 'x-host', 'x-forwarded-server', 'forwarded', 'x-http-host'];

describe.each<Platform>(['express', 'fastify'])('on %s', (platform) => {
  describe.each(someOf(CORS, 2))('%s', (_, prepare) => {
    it.each(['guard', 'link', 'none'] as const)('a foreign origin is refused behind: %s', async (door) => {
      const name = uniqueQueueName('mail');
      const app = await startDashboard({
        platform,
        jobs: OFF,
        dashboard: { queues: [name], hosts: ['app.internal'], ...DOORS[door] },
        prepare,
      });
      const cookie = door === 'link' ? await cookieOf(app) : 'user=ada';
      const host = `app.internal:${new URL(app.url).port}`;
      const own = { host, origin: `http://${host}`, cookie };
      const pause = JSON.stringify({ action: 'pause', queue: name });
      for (const origin of someOf(ATTACKERS, 2)) {
        const claimed = origin === 'null' ? 'none' : origin.replace(/^\w+:\/\//, '');
        const forged = someOf(NAMES, 3).map((header) => ({
          [header]: header === 'forwarded' ? `host=${claimed}` : claimed,
        }));
        for (const extra of [{}, ...forged]) {
          const headers = { ...own, origin, ...extra };
          for (const path of ['', '/api/session', '/api/overview', '/api/stream']) {
            expect([headers, path, (await ask(app.url + path, headers)).status]).toEqual([headers, path, 403]);
          }
          const { status, text: said } = await ask(`${app.url}/api/queue/act`, headers, pause);
          expect([headers, status]).toEqual([headers, 403]);
          expect(said).toContain('option \\"origins\\"');
        }
      }
      expect((await app.queue(name).stats()).pausedAt).toBeNull();
      expect((await ask(`${app.url}/api/overview`, own)).status).toBe(200);
      expect((await ask(`${app.url}/api/queue/act`, own, pause)).status).toBe(200);
    });
  });

  it.each<[string, DashboardMount & DashboardOptions]>([
    ['a guard', { guards: [NetworkGuard] }],
    ['allowRemote', { allowRemote: true }],
  ])('only hosts that no name server decides about, and listed ones, are served behind %s', async (_, mount) => {
    const app = await startDashboard({
      platform,
      jobs: OFF,
      dashboard: { hosts: ['admin.example', '.preview.example'], ...mount },
    });
    const { port } = new URL(app.url);
    const served = ['127.0.0.1', '10.1.2.3', '[::1]', '[fe80::1]', 'localhost', 'LOCALHOST', 'a.localhost'];
    served.push('localhost.', 'admin.example', 'Admin.Example', 'pr-7.preview.example', hostname());
    for (const name of served) {
      for (const host of [name, `${name}:${port}`]) {
        expect([host, (await ask(`${app.url}/api/session`, { host })).status]).toEqual([host, 200]);
      }
    }
    const refused = [
      'evil.example',
      'evil-admin.example',
      'x.admin.example',
      'preview.example',
      'evilpreview.example',
    ];
    refused.push(
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '1.2.3.4.5',
      'localhost:1:2',
      'evil.example@[::1]',
    );
    for (const host of refused) {
      for (const path of ['', '/api/session', '/api/stream', '/assets/x.js']) {
        const headers = { host, origin: `http://${host}`, 'x-forwarded-host': 'localhost' };
        const { status, text: said } = await ask(app.url + path, path === '' ? { host } : headers);
        expect([host, path, status]).toEqual([host, path, 403]);
        if (path === '') expect(said).toContain(`at the host \\"${host}\\". Add it to the option \\"hosts\\"`);
      }
    }
  });

  it('every host is served where the token decides, because a page at another host does not have it', async () => {
    const app = await startDashboard({ platform, jobs: OFF, dashboard: { allowRemote: false } });
    const cookie = await cookieOf(app);
    const host = 'devbox.example';
    expect((await ask(`${app.url}/api/session`, { host, cookie })).status).toBe(200);
    expect((await ask(`${app.url}/api/session`, { host })).status).toBe(403);
  });

  it('every refusal has the headers of the pages, and is kept by no cache', async () => {
    class Closed implements CanActivate {
      canActivate(): boolean {
        return false;
      }
    }
    const apps = [
      await startDashboard({ platform, jobs: OFF, dashboard: { guards: [Closed] } }),
      await startDashboard({ platform, jobs: OFF, dashboard: { allowRemote: false } }),
      await startDashboard({ platform, jobs: OFF, dashboard: { can: () => false } }),
    ];
    const page = await startDashboard({ platform, jobs: OFF });
    const names = ['content-security-policy', 'x-content-type-options', 'referrer-policy', 'x-frame-options'];
    names.push('cross-origin-opener-policy', 'cross-origin-resource-policy', 'cache-control');
    const expected = await ask(page.url, {});
    expect(expected.headers['cache-control']).toBe('no-store');
    const headersOf = ({ headers }: Sent) => names.map((name) => [name, headers[name]]);
    for (const { url } of apps) {
      for (const path of ['', '/api/session', '/api/stream']) {
        const reply = await ask(url + path, {});
        expect([path, reply.status, headersOf(reply)]).toEqual([path, 403, headersOf(expected)]);
      }
    }
    const others = [
      await ask(`${page.url}/api/session`, { host: 'evil.example' }),
      await ask(`${page.url}/api/session`, { origin: 'http://evil.example' }),
      await ask(`${page.url}/assets/none.js`, {}),
      await ask(`${page.url}/api/jobs?queue=none`, {}),
    ];
    expect(others.map(({ status }) => status)).toEqual([403, 403, 404, 400]);
    for (const reply of others) expect(headersOf(reply)).toEqual(headersOf(expected));
  });
});

it('the host of HTTP/2 is that of its own field', async () => {
  const app = await startDashboard({
    jobs: OFF,
    adapter: new FastifyAdapter({ http2: true } as never),
    dashboard: { allowRemote: true },
  });
  const session = connect(new URL(app.url).origin);
  const statusOf = async (headers: Record<string, string>) => {
    const stream = session.request({ ':path': '/queues/api/session', ...headers });
    const [answer] = (await once(stream, 'response')) as [{ ':status': number }];
    stream.close();
    return answer[':status'];
  };
  const own = new URL(app.url);
  expect(await statusOf({ origin: own.origin })).toBe(200);
  expect(await statusOf({ origin: 'http://evil.example' })).toBe(403);
  expect(await statusOf({ ':authority': 'evil.example' })).toBe(403);
  session.close();
});

it.each([
  [{ origins: ['admin.example.com'] }, 'origins'],
  [{ origins: ['https://admin.example.com/'] }, 'origins'],
  [{ origins: ['null'] }, 'origins'],
  [{ hosts: ['https://admin.example.com'] }, 'hosts'],
  [{ hosts: ['admin.example.com:3000'] }, 'hosts'],
  [{ hosts: ['*'] }, 'hosts'],
  [{ hosts: [''] }, 'hosts'],
])('%j is refused', (options, name) => {
  expect(() => JobQueueDashboardModule.forRoot(options)).toThrow(`JobQueueDashboardModule.${name}: expected`);
});
