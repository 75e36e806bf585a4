// A dashboard without a guard: only the link in the log opens it, wherever a request comes from.
import { afterEach, describe, expect, it } from '@jest/globals';
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
  expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
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

it('a token of the environment must be long enough to be no guess', () => {
  process.env.JOB_QUEUE_LINK_TOKEN = 'hunter2';
  expect(() => LinkGuard.linkTo('http://localhost:3000/')).toThrow(
    'JOB_QUEUE_LINK_TOKEN: expected at least 20 random characters, found 7 characters.',
  );
});
