// Recurring jobs in the dashboard: as rows with their runs, and the form that makes and edits them.
import { describe, expect, it } from '@jest/globals';
import { defineJob, JobHandler, type Job } from 'nest-job-queue';
import { z } from 'zod';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard, type DashboardApp, type Platform, type Reply } from '../dashboard-app.js';

const OFF = { worker: false, maintenance: false } as const;
const NIGHTLY = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };

async function startWithReport(): Promise<DashboardApp & { name: string }> {
  const name = uniqueQueueName('report');
  const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
  return { ...app, name };
}

const problemOf = ({ body }: Reply) => (body as { error: { message: string; subject?: string } }).error;

async function rowsOf(app: DashboardApp): Promise<Record<string, unknown>[]> {
  return (await app.get('/api/schedules')).body.schedules as Record<string, unknown>[];
}

describe('a row', () => {
  it('has words, rules, the next three times and the last runs', async () => {
    const app = await startWithReport();
    const { schedules } = app.queue(app.name);
    await schedules.upsert('nightly', { ...NIGHTLY, limit: 10, jitterMs: 60_000 }, { overlap: false });
    const run = await schedules.runNow('nightly');
    const [row] = await rowsOf(app);
    expect(row).toMatchObject({
      words: 'Every day at 03:00',
      timeZone: 'Europe/Berlin',
      rules: ['0 of 10 jobs', 'up to 1 min of jitter', 'one job at a time'],
      status: 'active',
      runs: [{ jobId: run.id, status: 'pending', isByHand: true }],
    });
    const next = row!.next as number[];
    expect(next).toHaveLength(3);
    expect(next).toEqual(next.toSorted((a, b) => a - b));
    expect(next[0]).toBe((await schedules.get('nightly'))!.nextAt!.getTime());
    await app.post('/api/schedules/act', { action: 'pause', queue: app.name, id: 'nightly' });
    expect(await rowsOf(app)).toMatchObject([{ status: 'paused', since: expect.any(Number), next: [] }]);
  });

  it('has no more next times than its limit leaves', async () => {
    const app = await startWithReport();
    await app.queue(app.name).schedules.upsert('twice', { everyMs: 60_000, limit: 2 });
    const [row] = await rowsOf(app);
    expect([row!.next, row!.timeZone]).toEqual([[expect.any(Number), expect.any(Number)], 'UTC']);
  });
});

describe.each<Platform>(['express', 'fastify'])('the form on %s', (platform) => {
  it('makes a schedule, edits it, and keeps the fields that it does not show', async () => {
    const name = uniqueQueueName('report');
    const app = await startDashboard({ platform, jobs: OFF, dashboard: { queues: [name], user: () => 'ada' } });
    const { schedules } = app.queue(name);
    const set = (body: object) => app.post('/api/schedules/set', { queue: name, id: 'nightly', ...body });
    const made = await set({ recurrence: NIGHTLY, payload: { of: 'today' }, updatedAt: null });
    expect(made.body).toEqual({ done: 1, spared: 0, outcome: 'created' });
    expect(await schedules.get('nightly')).toMatchObject({ ...NIGHTLY, payload: { of: 'today' }, name });
    const options = { priority: 3, maxAttempts: 7, missedAfterMs: 5_000, onMissed: 'once' as const };
    await schedules.upsert('nightly', NIGHTLY, { payload: { of: 'today' }, overlap: false, ...options });
    const { body: shown } = await app.get(`/api/schedule?queue=${name}&id=nightly`);
    const jobs = { priority: 3, maxAttempts: 7 };
    expect(shown).toMatchObject({ ...NIGHTLY, onMissed: 'once', overlap: false, refusal: null, ...jobs });
    expect(JSON.parse(shown.payload as string)).toEqual({ of: 'today' });
    const edit = { recurrence: { everyMs: 60_000, jitterMs: 500 }, updatedAt: shown.updatedAt };
    expect((await set(edit)).body).toMatchObject({ outcome: 'changed' });
    expect(await schedules.get('nightly')).toMatchObject({
      everyMs: 60_000,
      jitterMs: 500,
      payload: { of: 'today' },
      overlap: false,
      onMissed: 'once',
      missedAfterMs: 5_000,
      options: { priority: 3, maxAttempts: 7 },
    });
    const { body } = await app.get(`/api/log?queue=${name}&via=dashboard`);
    expect(body.entries).toMatchObject([
      { action: 'set-schedule', subject: 'schedule nightly: everyMs 60000, jitterMs 500', by: 'ada', count: 1 },
      { action: 'set-schedule', target: { kind: 'schedule', id: 'nightly' } },
    ]);
  });
});

describe('the form', () => {
  it.each([
    [{ recurrence: { cron: '61 * * * *' } }, 'schedule.cron', /expected a cron expression/],
    [{ recurrence: { cron: '0 3 * * *', timeZone: 'Mars/Olympus' } }, 'schedule.timeZone', /expected a time zone/],
    [{ recurrence: { everyMs: 5 } }, 'schedule.everyMs', /expected/],
    [{ recurrence: { everyMs: 60_000, jitterMs: 90_000 } }, 'schedule.jitterMs', /at most the time between/],
    [{ recurrence: {} }, 'schedule', /either cron or everyMs/],
    [{ id: 'not an id' }, 'schedule id', /1 to 100 of/],
    [{ id: 'taken', payload: 1 }, 'schedule id', /Edit that schedule, or choose another id/],
    [{ name: '' }, 'schedule "new".name', /expected/],
    [{ priority: 2_000 }, 'schedule "new".priority', /0 to 1,?000/],
    [{ maxAttempts: 0 }, 'schedule "new".maxAttempts', /expected/],
    [{ onMissed: 'never' }, 'schedule "new".onMissed', /'skip' or 'once'/],
  ])('explains the error in %j, and stores nothing', async (wrong, subject, message) => {
    const app = await startWithReport();
    await app.queue(app.name).schedules.upsert('taken', NIGHTLY);
    const body = { queue: app.name, id: 'new', recurrence: NIGHTLY, updatedAt: null, ...wrong };
    const reply = await app.post('/api/schedules/set', body);
    expect([reply.status, problemOf(reply)]).toEqual([
      400,
      { code: 'invalid', message: expect.stringMatching(message), subject },
    ]);
    expect((await app.queue(app.name).schedules.list()).map(({ id }) => id)).toEqual(['taken']);
  });

  it('checks the payload by the schema of the handler, where this process has it', async () => {
    const Report = defineJob(uniqueQueueName('typed'), { payload: z.object({ of: z.string() }) });
    class Handlers {
      @JobHandler(Report)
      handle(_job: Job<{ of: string }>) {
        return null;
      }
    }
    const app = await startDashboard({ jobs: OFF, providers: [Handlers] });
    const body = { queue: Report.name, id: 's', recurrence: NIGHTLY, updatedAt: null };
    const reply = await app.post('/api/schedules/set', { ...body, payload: { of: 1 } });
    expect(problemOf(reply)).toMatchObject({ subject: 'schedule "s".payload.of' });
    expect((await app.post('/api/schedules/set', { ...body, payload: { of: 'today' } })).status).toBe(200);
  });

  it('undoes no change that somebody made meanwhile', async () => {
    const app = await startWithReport();
    const { schedules } = app.queue(app.name);
    await schedules.upsert('s', NIGHTLY);
    const edit = { queue: app.name, id: 's', recurrence: { everyMs: 60_000 }, updatedAt: 5 };
    const reply = await app.post('/api/schedules/set', edit);
    expect([reply.status, problemOf(reply).message]).toEqual([409, expect.stringContaining('has changed it')]);
    expect(await schedules.get('s')).toMatchObject(NIGHTLY);
  });

  it('takes one of several edits that know the same schedule, and one of several that make it', async () => {
    const app = await startWithReport();
    const { schedules } = app.queue(app.name);
    const set = (body: object) => app.post('/api/schedules/set', { queue: app.name, id: 's', ...body });
    const race = async (updatedAt: number | null, least: number) => {
      const limits = Array.from({ length: 8 }, (_, i) => least + i);
      const replies = await Promise.all(
        limits.map((limit) => set({ recurrence: { ...NIGHTLY, limit }, updatedAt })),
      );
      const taken = limits.filter((_, i) => replies[i]!.status === 200);
      expect(await schedules.get('s')).toMatchObject({ limit: taken[0] });
      return [taken.length, new Set(replies.map(({ status }) => status))];
    };
    expect(await race(null, 1)).toEqual([1, new Set([200, 400])]);
    await connect().hset(`queue:${app.name}:schedule:s`, 'updated_at_ms', 5);
    expect(await race(5, 9)).toEqual([1, new Set([200, 409])]);
  });

  it('refuses a schedule of code, and hides a redacted payload and keeps it', async () => {
    const name = uniqueQueueName('report');
    const app = await startDashboard({
      jobs: { ...OFF, queues: { [name]: { redact: ['iban'] } } },
      dashboard: { queues: [name] },
    });
    const { schedules } = app.queue(name);
    await schedules.upsert('s', NIGHTLY, { payload: { iban: 'DE02' } });
    const { body } = await app.get(`/api/schedule?queue=${name}&id=s`);
    expect([body.payload, body.payloadRefusal]).toEqual([null, 'Parts of it are redacted.']);
    const edit = { queue: name, id: 's', recurrence: { everyMs: 60_000 }, updatedAt: body.updatedAt };
    expect((await app.post('/api/schedules/set', edit)).status).toBe(200);
    expect(await schedules.get('s')).toMatchObject({ everyMs: 60_000, payload: { iban: 'DE02' } });
    const [stored] = await app.queue(name).exec((calls) => calls.schedules.get({ id: 's' }));
    expect(stored!.source).toBe('call');
    await connect().hset(`queue:${name}:schedule:s`, 'source', 'code');
    await connect().zadd(`queue:${name}:schedule_owners`, Date.now() + 60_000, 's');
    const { body: declared } = await app.get(`/api/schedule?queue=${name}&id=s`);
    expect(declared.refusal).toBe('Code declares it, so change it there. Or pause it here.');
    await schedules.pause('s');
    const { body: paused } = await app.get(`/api/schedule?queue=${name}&id=s`);
    expect(paused.refusal).toBe('Code declares it, so change it there. Or resume it here.');
    expect(await rowsOf(app)).toMatchObject([{ status: 'paused', source: 'code', isDeclared: true }]);
    const refused = await app.post('/api/schedules/set', { ...edit, updatedAt: declared.updatedAt });
    expect([refused.status, problemOf(refused).message]).toEqual([
      400,
      expect.stringContaining('no code declares'),
    ]);
    await connect().zadd(`queue:${name}:schedule_owners`, 1, 's');
    const { body: undeclared } = await app.get(`/api/schedule?queue=${name}&id=s`);
    expect(undeclared.refusal).toBeNull();
    expect(await rowsOf(app)).toMatchObject([{ status: 'paused', source: 'code', isDeclared: false }]);
    expect((await app.post('/api/schedules/set', { ...edit, updatedAt: undeclared.updatedAt })).status).toBe(200);
  });

  it('shows the next times before it is stored, by the clock of the server', async () => {
    const app = await startWithReport();
    const ask = (recurrence: unknown) =>
      app.get(
        `/api/schedules/preview?queue=${app.name}&id=s&recurrence=${encodeURIComponent(JSON.stringify(recurrence))}`,
      );
    const { body } = await ask(NIGHTLY);
    expect(body).toMatchObject({ words: 'Every day at 03:00', timeZone: 'Europe/Berlin' });
    expect(body.next).toHaveLength(3);
    await app.queue(app.name).schedules.upsert('s', NIGHTLY);
    expect((body.next as number[])[0]).toBe((await app.queue(app.name).schedules.get('s'))!.nextAt!.getTime());
    expect(problemOf(await ask({ cron: '0 0 31 2 *' }))).toMatchObject({ subject: 'schedule.cron' });
    expect((await ask({ everyMs: 60_000, limit: 1 })).body.next).toHaveLength(1);
    await connect().hset(`queue:${app.name}:schedule:s`, 'ticks', 3);
    expect((await ask({ everyMs: 60_000, limit: 5 })).body.next).toHaveLength(2);
    expect((await ask({ everyMs: 60_000, limit: 3 })).body.next).toEqual([]);
  });

  it('runs a schedule without overlap once, and removes one', async () => {
    const app = await startWithReport();
    await app.queue(app.name).schedules.upsert('s', NIGHTLY, { overlap: false });
    const act = (action: string) => app.post('/api/schedules/act', { action, queue: app.name, id: 's' });
    const { body: first } = await act('run');
    expect((await act('run')).body).toEqual({ done: 0, spared: 0, jobId: first.jobId });
    expect((await act('remove')).body).toMatchObject({ done: 1 });
    expect(await rowsOf(app)).toEqual([]);
    expect((await act('remove')).status).toBe(404);
  });

  it('does not make one in a queue of another app, whose codec it does not know', async () => {
    const [own, other] = [uniqueQueueName('own'), uniqueQueueName('other')];
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [own], otherQueues: 'operate' } });
    await startDashboard({ jobs: OFF, dashboard: { queues: [other] } }).then(({ queue }) =>
      queue(other).enqueue(1),
    );
    const body = { queue: other, id: 's', recurrence: NIGHTLY, updatedAt: null };
    const reply = await app.post('/api/schedules/set', body);
    expect([reply.status, problemOf(reply).message]).toEqual([403, expect.stringContaining('cannot encode')]);
  });
});
