import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Command, type Redis } from 'ioredis';
import { JobHandler, type JobQueue } from 'nest-job-queue';
import { map, type Observable } from 'rxjs';
import { patiently, sleep } from '../support/faults/wait.js';
import type { OverviewView, RunView } from '#dashboard/views/views.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { ask, startDashboard, type Platform } from './dashboard-app.js';
import { openStream, type OpenStream } from './stream.js';
import { inside } from '../support/queue/inside.js';

const PLATFORMS: Platform[] = ['express', 'fastify'];

/** Lets in who says a name, as a login would. */
@Injectable()
class NameGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: unknown }>();
    const name = request.headers['x-user'];
    request.user = name && { name, role: name === 'ops' ? 'operator' : 'viewer' };
    return name !== undefined;
  }
}

/** A wrapper of answers as many apps have one. */
class WrapInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data) => ({ data, wrapped: true })));
  }
}

/** Makes dead letters without a worker. */
async function failSome(queue: JobQueue, count: number, messageOf: (i: number) => string): Promise<string[]> {
  const handles = await queue.enqueueMany(
    Array.from({ length: count }, (_, i) => ({ payload: { order: i }, maxAttempts: 1 })),
  );
  for (let i = 0; i < count; i++) {
    const job = await queue.claim();
    await queue.fail(job!, new Error(messageOf(i)));
  }
  return handles.map(({ id }) => id);
}

const operatorsChange = (action: string, request: { user?: unknown }) =>
  action === 'view' || (request.user as { role?: string }).role === 'operator';

const OPS = { 'x-user': 'ops' };
const VIEWER = { 'x-user': 'eve' };

describe.each(PLATFORMS)('on %s', (platform) => {
  const start = (setup: Parameters<typeof startDashboard>[0] = {}) =>
    startDashboard({
      platform,
      jobs: { worker: false, maintenance: false, ...setup.jobs },
      ...setup,
    });

  it('serves the page and its files, from a path with or without a slash, under a global prefix', async () => {
    const { url } = await start({ prefix: 'admin' });
    const page = await ask(url, {});
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const [, script] = /<script [^>]*src="([^"]+)"/.exec(String(page.body.text)) ?? [];
    const file = new URL(script!, url);
    expect(file.href).toBe(`${url}/assets/${file.pathname.split('/').at(-1)}`);
    const loaded = await ask(file.href, {});
    expect([loaded.status, loaded.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    expect(loaded.headers.get('cache-control')).toContain('immutable');
    expect(String(loaded.body.text).length).toBeGreaterThan(10_000);
    const [, icon] = /<link rel="icon"[^>]*href="([^"]+)"/.exec(String(page.body.text)) ?? [];
    const drawn = await ask(new URL(icon!, url).href, {});
    expect([drawn.status, drawn.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['br', 'br'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', null],
      ['gzip;q=0', null],
    ] as const) {
      const other = await ask(file.href, { headers: { 'accept-encoding': accepted } });
      expect([accepted, other.headers.get('content-encoding')]).toEqual([accepted, coding]);
      expect(other.body.text).toBe(loaded.body.text);
    }
    const head = await fetch(file.href, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      '',
    ]);
    expect((await ask(`${url}/assets/../../etc/passwd`, {})).status).toBe(404);
    expect((await ask(`${url}/assets/nothing.js`, {})).status).toBe(404);
  });

  it('shows queues with their depths, verdict and workers', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    await app.queue(name).limits.set({ maxRunning: 5, rateLimit: { limit: 100, periodMs: 60_000, burst: 100 } });
    await app.queue(name).enqueueMany(Array.from({ length: 3 }, () => ({ payload: { to: 'ada@example.com' } })));
    const job = await app.queue(name).claim({ worker: 'box:12:abc' });
    const { body } = await app.get('/api/overview');
    const { overview } = body as { overview: { queues: { name: string }[] } };
    expect(overview).toMatchObject({
      sentence: { severity: 'ok', sentence: 'The queue flows.' },
      queues: [
        {
          name,
          depths: { pending: 2, processing: 1, failed: 0 },
          verdict: { severity: 'ok', sentence: expect.stringContaining('is flowing: 2 waiting') },
          totals: { enqueued: 3 },
          limits: expect.stringMatching(
            /^at most 5 run at once, 100 start in 1 min and 100 at once, set by .* ago$/,
          ),
        },
      ],
      workers: [
        {
          id: 'box:12:abc',
          host: 'box',
          pid: 12,
          running: [{ id: job!.id, queue: name, name, label: 'to: ada@example.com' }],
        },
      ],
    });
  });

  it('lists a state in pages, and shows all of one job', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name], redact: ['password'] } });
    const queue = app.queue(name);
    const [first] = await failSome(queue, 3, (i) => `Mail server ${i} refused`);
    const page = await app.get(`/api/jobs?queue=${name}&state=failed&offset=1&limit=1`);
    expect(page.body).toMatchObject({
      total: 3,
      // Jobs that failed in the same millisecond are sorted by id.
      jobs: [
        { state: 'failed', error: expect.stringMatching(/^Mail server \d refused$/), attempts: 1, maxAttempts: 1 },
      ],
    });
    const { id } = await queue.enqueue({ user: 'ada', password: 'secret', deep: [{ Password: 'too' }] });
    const { body: secret } = await app.get(`/api/job?queue=${name}&id=${id}`);
    expect(secret).toMatchObject({
      payload: { user: 'ada', password: '[redacted]', deep: [{ Password: '[redacted]' }] },
      whyNotRunning: 'No worker serves the queue now; it is next.',
    });
    expect(JSON.stringify(secret)).not.toContain('secret');
    const { body } = await app.get(`/api/job?queue=${name}&id=${first}`);
    expect(body).toMatchObject({
      state: 'failed',
      payload: { order: 0 },
      hasResult: false,
      attemptLog: [{ attempt: 1, outcome: 'error', error: { message: 'Mail server 0 refused' } }],
      editRefusal: null,
    });
    expect((await app.get(`/api/job?queue=${name}&id=nobody`)).status).toBe(404);
    expect((await app.get(`/api/job?queue=unknown&id=${first}`)).status).toBe(404);
    expect((await app.get(`/api/jobs?queue=${name}&state=lost`)).status).toBe(400);
    expect((await app.get(`/api/find?id=${first}`)).body).toMatchObject({ jobs: [{ id: first, queue: name }] });
  });

  it('says how a job ended whose record has gone, also where it is looked for by its id', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] }, jobs: { worker: false, outcomes: {} } });
    const queue = app.queue(name);
    const { id } = await queue.enqueue(1);
    await queue.complete((await queue.claim())!);
    await connect().unlink(`queue:${name}:job:${id}`);
    expect(await app.get(`/api/job?queue=${name}&id=${id}`)).toMatchObject({
      status: 404,
      body: {
        error: { message: expect.stringMatching(/^It completed at .* after 1 attempt; its record was dropped\.$/) },
      },
    });
    const ended = [{ queue: name, id, name, state: 'completed' }];
    expect((await app.get(`/api/find?id=${id}`)).body).toMatchObject({ jobs: [], ended });
  });

  it('downloads a value that a page cuts, whole and redacted', async () => {
    const name = uniqueQueueName();
    const queues = { [name]: { redact: ['iban'], maxAttempts: 1 } };
    const { queue, get } = await startDashboard({ platform, jobs: { queues, worker: false } });
    const payload = { text: 'x'.repeat(300_000), iban: 'DE02' };
    await queue(name).enqueue(payload, { id: '"a/../b' });
    const [job] = await queue(name).claimMany(1);
    await queue(name).fail(job!, new TypeError('<b>no</b>'));
    const about = `queue=${name}&id=${encodeURIComponent('"a/../b')}`;
    expect((await get(`/api/job?${about}`)).body).toMatchObject({
      cut: ['payload'],
      payload: expect.stringMatching(/^.{20000,20001}$/),
    });
    const { status, headers, body } = await get(`/api/job/file?${about}&part=payload`);
    expect([status, body]).toEqual([200, { ...payload, iban: expect.not.stringContaining('DE02') }]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="${name}-_a_.._b-payload.json"`,
      'x-content-type-options': 'nosniff',
    });
    const errors = await get(`/api/job/file?${about}&part=errors`);
    expect(errors.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(errors.body['text']).toMatch(/^Attempt 1, .*\nTypeError: <b>no<\/b>\n {4}at /);
    expect((await get(`/api/job/file?queue=${name}&id=none&part=payload`)).status).toBe(404);
    expect((await get(`/api/job/file?${about}&part=all`)).status).toBe(400);
  });

  it.each(['ada+x@example.com', 'a/../b c', '#1?x=y&z', '%2F', '日本語'])(
    'shows and cancels a job with the id %j',
    async (id) => {
      const name = uniqueQueueName('mail');
      const app = await start({ dashboard: { queues: [name] } });
      await app.queue(name).enqueue({ to: 'ada' }, { id });
      const query = new URLSearchParams({ queue: name, id }).toString();
      expect((await app.get(`/api/job?${query}`)).body).toMatchObject({ id, state: 'pending' });
      expect((await app.get(`/api/find?${query}`)).body).toMatchObject({ jobs: [{ id }] });
      await app.post('/api/jobs/act', { action: 'cancel', queue: name, state: 'pending', ids: [id] });
      expect((await app.get(`/api/job?${query}`)).body).toMatchObject({ id, state: 'cancelled' });
    },
  );

  it('hides redacted values and their quotes in pages, searches and groups', async () => {
    const name = uniqueQueueName('pay');
    const app = await start({ jobs: { queues: { [name]: { redact: ['iban'] } } } });
    const queue = app.queue(name);
    const batch = queue.batch();
    const { id } = await batch.add(name, { iban: 'DE02-1203', to: 'ada' }, { maxAttempts: 1 });
    const claimed = (await queue.claim())!;
    await queue.fail(claimed, new Error('no account DE02-1203'));
    const answers = await Promise.all(
      [
        `/api/job?queue=${name}&id=${id}`,
        `/api/jobs?queue=${name}&state=failed`,
        `/api/search?queue=${name}&state=failed&text=account`,
        `/api/errors?queue=${name}`,
        `/api/batch?queue=${name}&id=${batch.id}`,
      ].map((path) => app.get(path)),
    );
    expect(answers[0]!.body).toMatchObject({
      payload: { iban: '[redacted]', to: 'ada' },
      error: 'no account [redacted]',
      editRefusal: expect.stringContaining('redacted'),
    });
    expect(answers[1]!.body).toMatchObject({ jobs: [{ label: 'iban: [redacted], to: ada' }] });
    expect(answers[2]!.body).toMatchObject({ jobs: [{ id }] });
    expect(answers[3]!.body).toMatchObject({ groups: [{ sample: 'no account [redacted]' }] });
    expect(answers[4]!.body).toMatchObject({ members: [{ id, error: '[redacted]' }] });
    expect(JSON.stringify(answers.map(({ body }) => body as unknown))).not.toContain('DE02-1203');
  });

  it('searches ids, names and errors, and groups dead letters by error', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    await failSome(app.queue(name), 7, (i) => (i < 5 ? `Timeout after ${i}00 ms` : `No such user "u${i}"`));
    const found = await app.get(`/api/search?queue=${name}&state=failed&text=NO%20SUCH`);
    expect(found.body).toMatchObject({ searched: 7, total: 7, cursor: null, jobs: [{}, {}] });
    const groups = await app.get(`/api/errors?queue=${name}`);
    expect(groups.body).toMatchObject({
      searched: 7,
      groups: [
        { key: expect.any(String), count: 5, name: 'Error', lastHour: 5, isNew: true },
        { key: expect.any(String), count: 2, sample: expect.stringMatching(/^No such user "u[56]"$/) },
      ],
      cursor: null,
    });
    const [{ key: group }] = groups.body.groups as [{ key: string }];
    expect((await app.get(`/api/search?queue=${name}&state=failed&group=${group}`)).body.jobs).toHaveLength(5);
  });

  it('acts on chosen jobs, spares those that have changed, and keeps a log of it', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name], guards: [NameGuard] } });
    const queue = app.queue(name);
    const ids = await failSome(queue, 4, () => 'broken');
    await queue.deadLetters.redriveMany([ids[3]!]);
    const act = (action: string, state: string, chosen: string[]) =>
      app.post('/api/jobs/act', { action, queue: name, state, ids: chosen }, OPS);
    expect((await act('redrive', 'failed', [ids[0]!, ids[3]!])).body).toEqual({ done: 1, spared: 1 });
    expect((await act('discard', 'failed', [ids[1]!])).body).toEqual({ done: 1, spared: 0 });
    expect((await act('cancel', 'pending', [ids[0]!, ids[2]!])).body).toEqual({ done: 1, spared: 1 });
    expect((await act('redrive', 'completed', [ids[0]!])).status).toBe(400);
    const later = await queue.enqueue(null, { delayMs: 60_000 });
    expect((await act('promote', 'scheduled', [later.id])).body).toEqual({ done: 1, spared: 0 });
    expect((await act('remove', 'pending', [later.id])).body).toEqual({ done: 1, spared: 0 });
    const why = { reason: 'the provider is down', forMs: 7_200_000 };
    const pause = await app.post('/api/queue/act', { action: 'pause', queue: name, ...why }, OPS);
    expect([pause.status, (await queue.stats()).pausedAt]).toEqual([200, expect.any(Date)]);
    const { pauseReason, pausedUntil } = await queue.stats();
    expect([pauseReason, pausedUntil]).toEqual([why.reason, expect.any(Date)]);
    const { body } = await app.get(`/api/log?queue=${name}`, OPS);
    const entries = body.entries as { action: string }[];
    expect(entries.map(({ action }) => action)).toEqual([
      'pause',
      'remove',
      'promote',
      'cancel',
      'discard',
      'redrive',
      'redrive',
    ]);
    expect(entries[0]).toMatchObject({ subject: 'the queue: for 2 h, the provider is down' });
    expect(entries[5]).toEqual({
      at: expect.any(Number),
      queue: name,
      via: 'dashboard',
      by: 'ops',
      action: 'redrive',
      subject: '2 chosen dead letters',
      target: null,
      other: null,
      count: 1,
    });
    expect(entries[4]).toMatchObject({ subject: `job ${ids[1]}`, target: { kind: 'job', id: ids[1] } });
    expect(entries[6]).toMatchObject({ via: 'app', subject: '1 chosen dead letters' });
    const ofApp = (await app.get(`/api/log?action=redrive&via=app&by=pid`, OPS)).body.entries;
    expect(ofApp).toEqual([entries[6]]);
  });

  it('redrives with an edited payload, but not where parts of it are hidden', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name], redact: ['secret'] } });
    const [id] = await failSome(app.queue(name), 1, () => 'broken');
    const edit = await app.post('/api/jobs/edit', { queue: name, id, payload: { order: 9 } });
    expect(edit.body).toEqual({ done: 1, spared: 0 });
    expect(await app.queue(name).get(id!)).toMatchObject({ status: 'pending', payload: { order: 9 } });
    const hidden = await app.queue(name).enqueue({ secret: 1 }, { maxAttempts: 1 });
    for (let job = await app.queue(name).claim(); job; job = await app.queue(name).claim()) {
      await app.queue(name).fail(job, new Error('broken'), { final: true });
    }
    const refused = await app.post('/api/jobs/edit', { queue: name, id: hidden.id, payload: {} });
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: { code: 'refused', message: expect.stringContaining('redacted') } },
    ]);
  });

  it('redrives in the queue that was asked for, whatever handler has its name', async () => {
    const [jobs, mail] = [uniqueQueueName('jobs'), uniqueQueueName('mail')];
    @JobHandler(jobs, { queue: mail })
    class Elsewhere {
      handle(): void {}
    }
    const options = { jobs: { queues: { [jobs]: {} } }, dashboard: { queues: [jobs] } };
    const app = await start({ providers: [Elsewhere], ...options });
    const [id] = await failSome(app.queue(jobs), 1, () => 'broken');
    const edit = await app.post('/api/jobs/edit', { queue: jobs, id, payload: { order: 9 } });
    expect(edit.body).toEqual({ done: 1, spared: 0 });
    expect(await app.queue(jobs).get(id!)).toMatchObject({ status: 'pending', payload: { order: 9 } });
  });

  it('shows the groups of a queue, and why a job of one does not run', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const queue = app.queue(name);
    await queue.groups.set('tenant-2', { maxRunning: 4, weight: 3 });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'tenant-1' })));
    const held = await queue.enqueue(4, { group: 'tenant-2' });
    await queue.groups.pause('tenant-2');
    const { body } = await app.get(`/api/groups?queue=${name}`);
    expect(body.groups).toMatchObject([
      { name: 'tenant-1', pending: 3, running: 0, limits: null, pausedAt: null },
      { name: 'tenant-2', pending: 1, limits: 'weight 3, at most 4 run at once', pausedAt: expect.any(Number) },
    ]);
    const job = await app.get(`/api/job?queue=${name}&id=${held.id}`);
    expect(job.body).toMatchObject({
      group: 'tenant-2',
      whyNotRunning: expect.stringMatching(/tenant-2.* paused/),
    });
    expect((await app.get('/api/groups?queue=unknown')).status).toBe(404);
  });

  it('shows the limits of all groups, and which group runs as many jobs as it may', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const queue = app.queue(name);
    await queue.limits.set({ groups: { maxRunning: 1 } });
    await queue.enqueueMany(['ada', 'ada', 'ada', 'bob'].map((group) => ({ payload: {}, group })));
    await queue.claim();
    const { body } = await app.get(`/api/groups?queue=${name}`);
    expect(body).toMatchObject({
      ofAll: 'at most 1 run at once',
      groups: [
        { name: 'ada', pending: 2, running: 1, isFull: true, limits: null },
        { name: 'bob', running: 0, isFull: false },
      ],
    });
  });

  it('sets and clears the limits of a queue, and keeps a log of it', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name], guards: [NameGuard], can: operatorsChange } });
    const limits = { maxRunning: 3, rateLimit: { limit: 10, periodMs: 60_000 } };
    const kept = { groups: { maxRunning: 1 }, maxPending: 500, maxPendingBytes: 1_000_000 };
    await app.queue(name).limits.set({ ...kept, maxRunning: 9 });
    expect((await app.post('/api/queue/limits', { queue: name, limits }, VIEWER)).status).toBe(403);
    expect((await app.post('/api/queue/limits', { queue: name, limits }, OPS)).body).toEqual({
      done: 1,
      spared: 0,
    });
    expect(await app.queue(name).limits.get()).toMatchObject({ ...kept, ...limits, source: 'set' });
    const wrong = await app.post('/api/queue/limits', { queue: name, limits: { maxRunning: 0 } }, OPS);
    expect([wrong.status, wrong.body]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('maxRunning') } },
    ]);
    await app.post('/api/queue/limits', { queue: name, limits: null }, OPS);
    expect(await app.queue(name).limits.get()).toMatchObject({ source: 'none' });
    const { body } = await app.get(`/api/log?queue=${name}`, OPS);
    expect(body.entries).toMatchObject([
      { action: 'clear-limits', subject: 'the queue' },
      { action: 'limits', subject: 'the queue: at most 3 run at once, 10 start in 1 min', by: 'ops' },
      { action: 'limits', via: 'app' },
    ]);
  });

  it('shows the history of a queue, and of the last hour in the overview', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const empty = await app.get(`/api/history?queue=${name}`);
    expect(empty.body).toMatchObject({ stepMs: 60_000, at: [], marks: [] });
    const calls = await app.queue(name).calls();
    const reading = { pending: 7, processing: 1, oldestPendingAgeMs: 900, version: '1.2', gapMs: 180_000 };
    const nowMs = await app.queue(name).exec(() => calls.now());
    await app.queue(name).exec(() => calls.history.closeMinute(reading));
    // As if the last minute had been closed almost three minutes ago.
    await connect().hset(`queue:${name}:history_open`, { at_ms: nowMs - 170_000, since_ms: nowMs - 170_000 });
    await app.queue(name).enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await app
      .queue(name)
      .exec(() => calls.history.addDurations({ worker: 'w', batch: 'b', counts: ['w20', 9, 'r30', 9] }));
    await app.queue(name).exec(() => calls.history.closeMinute(reading));
    const { body } = await app.get(`/api/history?queue=${name}&hours=24`);
    expect(body).toMatchObject({ stepMs: 600_000, marks: [{ kind: 'deploy', text: 'version 1.2' }] });
    expect((body.in as number[]).reduce((sum, each) => sum + each, 0)).toBe(2);
    expect((await app.get(`/api/history?queue=${name}&hours=7`)).status).toBe(400);
    expect((await app.get('/api/history?queue=unknown')).status).toBe(404);
    const after = await start({ dashboard: { queues: [name] } });
    const { overview } = (await after.get('/api/overview')).body as { overview: OverviewView };
    const [queue] = overview.queues;
    expect(queue!.lastHour).toMatchObject({
      waitMs: { p95: expect.any(Number) },
      runMs: { p50: expect.any(Number) },
    });
    expect(queue!.spark).toHaveLength(60); // the minutes before the first record too
    expect(queue!.spark.slice(0, 50)).toEqual(Array.from({ length: 50 }, () => 0));
  });

  it('follows a redrive of a few until its jobs have ended', async () => {
    const name = uniqueQueueName('mail');
    const { queue: queueOf, post, get } = await start({ dashboard: { queues: [name] } });
    const queue = queueOf(name);
    await failSome(queue, 5, () => 'Refused');
    const run = { action: 'redrive', queue: name, state: 'failed', match: {}, most: 3 };
    const { id } = (await post('/api/runs', run)).body as { id: string };
    const ends = async () =>
      ((await get('/api/runs')).body as { runs: RunView[] }).runs.find((each) => each.id === id)?.ends;
    await patiently(async () => (await ends())?.open === 3);
    for (const error of [undefined, undefined, new Error('Refused again')]) {
      const job = (await queue.claim())!;
      await (error ? queue.fail(job, error, { final: true }) : queue.complete(job));
    }
    const ended = await patiently(async () => {
      const now = await ends();
      return now?.open === 0 ? now : undefined;
    });
    expect(ended).toMatchObject({ completed: 2, failed: 1, error: 'Refused again' });
  });

  it('runs an action on all that match in the background, which can be stopped', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const queue = app.queue(name);
    await failSome(queue, 30, (i) => (i % 3 === 0 ? 'Timeout' : 'Refused'));
    const begun = await app.post('/api/runs', {
      action: 'redrive',
      queue: name,
      state: 'failed',
      match: { text: 'timeout' },
    });
    expect(begun.body).toMatchObject({ status: 'running', total: 30 });
    const ended = await patiently(async () => {
      const { runs } = (await app.get('/api/runs')).body as { runs: { id: string; status: string }[] };
      const run = runs.find(({ id }) => id === begun.body.id);
      return run?.status === 'done' ? run : undefined;
    });
    expect(ended).toMatchObject({ done: 10, spared: 0, searched: 30 });
    expect(await queue.stats()).toMatchObject({ failed: 20, pending: 10 });
    await queue.enqueueMany(Array.from({ length: 1_200 }, () => ({ payload: null })));
    const removed = await app.post('/api/runs', { action: 'remove', queue: name, state: 'pending', match: {} });
    await app.post('/api/runs/stop', { queue: name, id: removed.body.id });
    await patiently(async () => {
      const { runs } = (await app.get('/api/runs')).body as { runs: { id: string; status: string }[] };
      return ['stopped', 'done'].includes(runs.find(({ id }) => id === removed.body.id)?.status ?? '');
    });
    const { body } = await app.get(`/api/log?queue=${name}`);
    expect(body.entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'redrive', subject: 'all dead letters that match a search', count: 10 }),
      ]),
    );
  });

  it('lists, runs, pauses and resumes recurring jobs', async () => {
    const name = uniqueQueueName('report');
    const app = await start({ dashboard: { queues: [name] } });
    await app.queue(name).schedules.upsert('nightly', { cron: '0 3 * * *', timeZone: 'Europe/Berlin' });
    const { body } = await app.get('/api/schedules');
    expect(body).toMatchObject({
      schedules: [{ id: 'nightly', words: 'Every day at 03:00', timeZone: 'Europe/Berlin', status: 'active' }],
    });
    const act = (action: string) => app.post('/api/schedules/act', { action, queue: name, id: 'nightly' });
    expect((await act('run')).body).toMatchObject({ done: 1, jobId: expect.any(String) });
    expect((await act('pause')).status).toBe(200);
    expect(await app.queue(name).schedules.get('nightly')).toMatchObject({ status: 'paused' });
    expect((await act('resume')).status).toBe(200);
    expect((await app.queue(name).stats()).pending).toBe(1);
  });

  it('allows a request by guard, by can and by readOnly', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({
      dashboard: {
        queues: [name],
        guards: [NameGuard],
        can: (action, request) => action === 'view' || (request.user as { role: string }).role === 'operator',
      },
    });
    const pause = (headers: Record<string, string>) =>
      app.post('/api/queue/act', { action: 'pause', queue: name }, headers);
    expect((await app.get('/api/overview')).status).toBe(403);
    expect((await app.get('')).status).toBe(403);
    expect((await app.get('/api/stream')).status).toBe(403);
    expect((await app.get('/api/session', VIEWER)).body).toMatchObject({ user: 'eve', actions: ['view'] });
    expect((await pause(VIEWER)).body).toEqual({
      error: { code: 'refused', message: 'You may not pause here.' },
    });
    expect((await pause(OPS)).status).toBe(200);
    const readOnly = await start({ dashboard: { queues: [name], readOnly: true } });
    expect((await readOnly.get('/api/session')).body).toMatchObject({ readOnly: true, actions: ['view'] });
    const refused = await readOnly.post('/api/queue/act', { action: 'resume', queue: name });
    expect([refused.status, refused.body]).toEqual([
      403,
      { error: { code: 'refused', message: 'This dashboard is read-only.' } },
    ]);
  });

  it('refuses changes that another site sends', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({
      dashboard: { queues: [name], guards: [NameGuard], origins: ['https://admin.example.com'] },
    });
    const body = { action: 'pause', queue: name };
    const status = async (headers: Record<string, string>) =>
      (await app.post('/api/queue/act', body, { ...OPS, ...headers })).status;
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await status({ origin: 'https://evil.example' })).toBe(403);
    expect(await status({ origin: 'null' })).toBe(403);
    const { port } = new URL(app.url);
    // `fetch` sends no other host than that of the address.
    const statusAtLocalhost = async (origin: string) => {
      const headers = { ...OPS, origin, 'content-type': 'application/json', 'x-job-queue-dashboard': '1' };
      const url = `${app.url.replace('127.0.0.1', 'localhost')}/api/queue/act`;
      return (await ask(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    expect(await statusAtLocalhost(`http://localhost:${port}`)).toBe(200);
    expect(await statusAtLocalhost(`http://evil-localhost:${port}`)).toBe(403);
    expect(await statusAtLocalhost(`http://localhost:${port.slice(0, -1)}`)).toBe(403);
    expect(await status({ origin: new URL(app.url).origin })).toBe(200);
    expect(await status({ origin: 'https://admin.example.com' })).toBe(200);
    // A form cannot add the header.
    const form = await ask(`${app.url}/api/queue/act`, {
      method: 'POST',
      headers: OPS,
      body: new URLSearchParams(body),
    });
    expect(form.status).toBe(403);
    const text = await ask(`${app.url}/api/queue/act`, {
      method: 'POST',
      headers: { ...OPS, 'content-type': 'text/plain' },
      body: JSON.stringify(body),
    });
    expect([403, 415]).toContain(text.status);
  });

  it('is not changed by an interceptor of the app that wraps answers', async () => {
    const app = await start({ prepare: (nest) => nest.useGlobalInterceptors(new WrapInterceptor()) });
    expect((await app.get('/api/session')).body).toMatchObject({ title: 'Queues', readOnly: false });
    expect((await app.get('/api/session')).body).not.toHaveProperty('back');
  });

  it('streams one reading to all viewers, and ends the streams when the app closes', async () => {
    const name = uniqueQueueName('mail');
    const { app, url, queue } = await start({ dashboard: { queues: [name], refreshMs: 100 } });
    const viewers = await Promise.all(Array.from({ length: 3 }, () => openStream(url)));
    await queue(name).enqueue(null);
    await patiently(() => viewers.every((each) => pendingOf(each) === 1));
    await app.close();
    await Promise.all(viewers.map(({ ended }) => ended));
  });
});

it('costs Redis the same with one viewer as with five, and nothing without', async () => {
  const name = uniqueQueueName('mail');
  const { url, queue } = await startDashboard({
    jobs: { worker: false, maintenance: false },
    dashboard: { queues: [name], refreshMs: 100 },
  });
  const client = inside(queue(name)).connection.client as Redis;
  const sent: string[] = [];
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command: Command, ...rest: unknown[]) => {
    sent.push(command.name);
    return send(command, ...(rest as []));
  };
  const perReading = async (viewers: number) => {
    const open = await Promise.all(Array.from({ length: viewers }, () => openStream(url)));
    await patiently(() => open.every((each) => readingsOf(each) > 3));
    const [commands, readings] = [sent.length, readingsOf(open[0]!)];
    await patiently(() => readingsOf(open[0]!) >= readings + 7);
    const cost = (sent.length - commands) / (readingsOf(open[0]!) - readings);
    open.forEach(({ stop }) => stop());
    return cost;
  };
  const one = await perReading(1);
  expect(await perReading(5)).toBeLessThan(one * 1.5);
  // The last reading may still be in flight.
  await patiently(async () => {
    const before = sent.length;
    await sleep(300);
    return sent.length === before;
  });
});

/** Returns how many readings a viewer got. */
function readingsOf({ messages }: OpenStream): number {
  return messages().length;
}

/** Returns how many jobs wait, as a viewer of one queue sees it. */
function pendingOf({ messages, last }: OpenStream): number | undefined {
  return messages().length > 0 ? last().overview?.queues[0]?.depths.pending : undefined;
}

it('refuses options that it does not know', async () => {
  const { JobQueueDashboardModule } = await import('nest-job-queue/dashboard');
  expect(() => JobQueueDashboardModule.forRoot({ readonly: true } as object)).toThrow(/readOnly/);
  expect(() => JobQueueDashboardModule.forRoot({ pth: 'x' } as object)).toThrow('Did you mean path?');
  expect(() => JobQueueDashboardModule.forRoot({ path: '../x' })).toThrow(/path: expected/);
  expect(() => JobQueueDashboardModule.forRoot({ guards: ['no'] as never })).toThrow(/guards/);
});
