// A dashboard without a guard: only the link in the log opens it, wherever a request comes from.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { JobQueueDashboardModule, LinkGuard } from 'nest-job-queue/dashboard';
import { startDashboard, type Platform } from './dashboard-app.js';

const OFF = { worker: false, maintenance: false } as const;
const unguarded = { allowRemote: false };
const { NODE_ENV } = process.env;

afterEach(() => {
  process.env.NODE_ENV = NODE_ENV;
  delete process.env.JOB_QUEUE_LINK_TOKEN;
});

/** Returns the link of the log. */
function linkOf(lines: readonly string[]): string {
  return /Only this link opens it: (\S+)/.exec(lines.join('\n'))![1]!;
}

/** Opens a link as a browser does, without following it. Returns the cookie and where it leads. */
async function open(link: string): Promise<{ cookie: string; leadsTo: string }> {
  const response = await fetch(link, { redirect: 'manual' });
  expect(response.status).toBe(302);
  const set = response.headers.get('set-cookie')!;
  expect(set).toMatch(/; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
  expect(set).not.toContain(new URL(link).searchParams.get('token'));
  expect(response.headers.get('cache-control')).toBe('no-store');
  return {
    cookie: set.split(';')[0]!,
    leadsTo: new URL(response.headers.get('location')!, link).href,
  };
}

describe.each<Platform>(['express', 'fastify'])('on %s', (platform) => {
  it.each([undefined, 'admin'])('the link of the log becomes a cookie, with the prefix %s', async (prefix) => {
    const { url, log } = await startDashboard({
      platform,
      jobs: OFF,
      dashboard: unguarded,
      ...(prefix !== undefined && { prefix }),
    });
    expect(linkOf(log.lines)).toBe(LinkGuard.linkTo(url));
    const { cookie, leadsTo } = await open(linkOf(log.lines));
    expect(leadsTo).toBe(url);
    for (const path of ['', '/api/session', '/api/overview']) {
      expect([path, (await fetch(url + path, { headers: { cookie } })).status]).toEqual([path, 200]);
    }
    const asked = new URL(`${linkOf(log.lines)}&a=b`);
    expect((await open(asked.href)).leadsTo).toBe(`${url}?a=b`);
  });

  it('no address opens it: neither one of this machine, nor one that a proxy sends', async () => {
    const { url, log } = await startDashboard({ platform, jobs: OFF, dashboard: unguarded });
    const { cookie } = await open(linkOf(log.lines));
    const name = cookie.split('=')[0]!;
    const refused: Record<string, string>[] = [
      {},
      { via: '1.1 proxy' },
      { 'x-forwarded-for': '127.0.0.1' },
      { 'x-forwarded-proto': 'https' },
      { cookie: `${name}=` },
      { cookie: `${name}=${'A'.repeat(43)}` },
      { cookie: `${name}=${new URL(linkOf(log.lines)).searchParams.get('token')!}` },
      { cookie: cookie.replace(/=(\d+)/, (_, until: string) => `=${Number(until) + 1}`) },
      { cookie: `other=${cookie.split('=')[1]!}` },
      { authorization: 'Bearer x' },
    ];
    for (const path of ['', '/api/session', '/api/stream', '/assets/x.js', '?token=', '?token=x', '?token[]=x']) {
      for (const headers of refused) {
        const response = await fetch(url + path, { headers, redirect: 'manual' });
        expect([path, headers, response.status]).toEqual([path, headers, 403]);
      }
    }
    const token = new URL(linkOf(log.lines)).searchParams.get('token')!;
    const headers = { 'x-job-queue-dashboard': '1', 'content-type': 'application/json' };
    const post = { method: 'POST', headers, body: '{"action":"pause","queue":"x"}', redirect: 'manual' } as const;
    expect((await fetch(`${url}/api/queue/act?token=${token}`, post)).status).toBe(403);
    expect((await fetch(`${url}/api/session`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  });

  it('anybody may come in with allowRemote, and no link is logged', async () => {
    const { get, log } = await startDashboard({ platform, jobs: OFF, dashboard: { allowRemote: true } });
    expect((await get('/api/session', { 'x-forwarded-for': '9.9.9.9' })).status).toBe(200);
    expect(log.lines.join('\n')).not.toContain('token=');
  });
});

it('no app starts in production without a guard or allowRemote', async () => {
  process.env.NODE_ENV = 'production';
  await expect(startDashboard({ jobs: OFF, dashboard: unguarded })).rejects.toThrow(
    'JobQueueDashboardModule.guards: expected a guard where NODE_ENV is production, found none. ' +
      'Set `guards`, or `allowRemote: true` where a global guard or a proxy protects the dashboard.',
  );
  for (const dashboard of [{ allowRemote: true }, { guards: [LinkGuard] }]) {
    await startDashboard({ jobs: OFF, dashboard });
  }
  expect(JobQueueDashboardModule.forRoot(unguarded)).toBeDefined();
});

it.each([
  ['hunter2', '7 characters'],
  ['', '0 characters'],
  [`${'a1'.repeat(12)}; Path=/admin`, 'another character, such as a blank or a line break'],
  [`${'a1'.repeat(12)}\n`, 'another character, such as a blank or a line break'],
  [`${'a1'.repeat(12)}\r\nSet-Cookie: a=b`, 'another character, such as a blank or a line break'],
])('no app starts with the token %j of the environment, and no error quotes it', async (token, found) => {
  process.env.JOB_QUEUE_LINK_TOKEN = token;
  const words = `JOB_QUEUE_LINK_TOKEN: expected at least 20 random characters of A-Z a-z 0-9 - . _ ~ + /, found ${found}.`;
  expect(() => LinkGuard.linkTo('http://localhost:3000/')).toThrow(words);
  // Before it listens: afterwards nobody catches the error, and the process ends.
  for (const dashboard of [unguarded, { guards: [LinkGuard] }]) {
    await expect(startDashboard({ jobs: OFF, dashboard })).rejects.toThrow(words);
  }
});

describe('the cookie', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('ends after twelve hours, by the clock of the server', async () => {
    const { url, log } = await startDashboard({ jobs: OFF, dashboard: unguarded });
    const { cookie } = await open(linkOf(log.lines));
    const now = Date.now();
    const statusAfter = async (ms: number) => {
      jest.spyOn(Date, 'now').mockReturnValue(now + ms);
      return (await fetch(`${url}/api/session`, { headers: { cookie } })).status;
    };
    expect([await statusAfter(43_190_000), await statusAfter(43_210_000)]).toEqual([200, 403]);
  });

  it('is sent over TLS only, where the browser asked over TLS', async () => {
    const { log } = await startDashboard({ jobs: OFF, dashboard: unguarded });
    const cookieBy = async (proto: string) =>
      (await fetch(linkOf(log.lines), { redirect: 'manual', headers: { 'x-forwarded-proto': proto } })).headers.get(
        'set-cookie',
      );
    expect(await cookieBy('https')).toMatch(/; Secure$/);
    expect(await cookieBy('https, http')).toMatch(/; Secure$/);
    expect(await cookieBy('http')).not.toMatch(/Secure/);
  });
});

describe('beside global guards', () => {
  const IS_PUBLIC = 'is-public';
  const Public = () => SetMetadata(IS_PUBLIC, true);

  @Injectable()
  class SessionGuard implements CanActivate {
    constructor(private readonly reflector: Reflector) {}

    canActivate(context: ExecutionContext): boolean {
      return (
        this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, [context.getHandler(), context.getClass()]) ?? false
      );
    }
  }

  const providers = [{ provide: APP_GUARD, useClass: SessionGuard }];

  it.each<Platform>(['express', 'fastify'])('decorators mark the dashboard for them, on %s', async (platform) => {
    const dashboard = { ...unguarded, decorators: [Public()] };
    const { url, log } = await startDashboard({ platform, jobs: OFF, dashboard, providers });
    expect(log.lines.join('\n')).toContain("The app's global guards decide before the link: SessionGuard.");
    const { cookie } = await open(linkOf(log.lines));
    for (const path of ['', '/api/session']) {
      expect((await fetch(url + path, { headers: { cookie } })).status).toBe(200);
      expect((await fetch(url + path)).status).toBe(403);
    }
  });

  it('the log says which of them decide before the link, and what to set', async () => {
    const { log } = await startDashboard({ jobs: OFF, dashboard: unguarded, providers });
    expect(log.lines.join('\n')).toContain(
      "The app's global guards decide before the link: SessionGuard. They may refuse it. Mark the dashboard for them, " +
        'such as by `decorators: [Public()]`, or set its `guards`.',
    );
  });

  it('refuses what is no decorator', () => {
    expect(() => JobQueueDashboardModule.forRoot({ decorators: ['Public'] as never })).toThrow(
      'JobQueueDashboardModule.decorators[0]: expected a function (class), such as the result of SkipThrottle(), found "Public".',
    );
  });
});

it('an app on a socket file starts, with a link for a proxy', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'link-')), 'app.sock');
  const { log } = await startDashboard({ jobs: OFF, dashboard: unguarded, listen: path });
  expect(linkOf(log.lines)).toMatch(/^http:\/\/localhost\/queues\?token=/);
});
