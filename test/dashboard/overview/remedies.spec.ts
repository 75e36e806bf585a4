// Each verdict that says what to do offers it: a place of the dashboard, or a command.
import { describe, expect, it } from '@jest/globals';
import { overallVerdict, unreadableView, verdictView, worseFact } from '#dashboard/live/verdict-view.js';
import { outboxVerdictOf } from '#inspect/outbox-verdict.js';
import { serverVerdictOf } from '#inspect/server-verdict.js';
import { unreadable } from '#inspect/unreadable.js';
import { findingOf, RULES } from '#inspect/verdict.js';
import { QueueLayoutError } from '#queue/errors/errors.js';
import { RedisKeyTypeError, RedisPermissionError } from '#queue/errors/redis-errors.js';
import { CASES, LATER, signsAt } from '../../inspect/rule-cases.js';

const WELL = { usedBytes: 0, maxBytes: 0, isReplica: false, aofWorks: true, snapshotsWork: true };
const QUIET = { waiting: 0, setAside: 0, failed: 0, oldestAgeMs: 0 };

const commandOf = (server: ReturnType<typeof serverVerdictOf> | null) => overallVerdict(server, []).remedyAt;

const views = (name: string) =>
  (CASES[name] ?? []).flatMap((each) =>
    [0, LATER].map((passedMs) => verdictView(findingOf(signsAt(passedMs, each)))),
  );

it.each(RULES.map(({ name }) => name).filter((name) => name !== 'flowing'))('%s offers its next step', (name) => {
  expect(views(name).length).toBeGreaterThan(0);
  for (const view of views(name)) {
    expect(view).toMatchObject({
      queue: 'email',
      remedy: expect.any(String),
      remedyAt: { at: expect.any(String) },
    });
  }
});

it('no verdict has a place and says nothing to do there', () => {
  for (const view of RULES.flatMap(({ name }) => views(name))) {
    expect(view.remedyAt === undefined).toBe(view.remedy === undefined);
  }
});

it('jobs without a handler are found by their name', () => {
  const [view] = views('unserved');
  expect(view?.remedyAt).toEqual({ at: 'jobs', state: 'pending', search: 'name:"emial"' });
});

describe('beside the queues', () => {
  it.each<[string, Partial<Parameters<typeof serverVerdictOf>[0][number]>]>([
    ['a replica', { isReplica: true }],
    ['a broken append-only file', { aofWorks: false }],
    ['a full memory', { usedBytes: 100, maxBytes: 100 }],
    ['a full memory that evicts', { usedBytes: 100, maxBytes: 100, evicts: 'allkeys-lru' }],
    ['memory that is nearly full', { usedBytes: 95, maxBytes: 100 }],
    ['a policy that evicts', { maxBytes: 100, evicts: 'allkeys-lru' }],
    ['a failed snapshot', { snapshotsWork: false }],
    ['a failed snapshot that stops nothing', { snapshotsWork: false, needsSnapshots: false }],
  ])('%s has a command', (_case, signs) => {
    expect(commandOf(serverVerdictOf([{ ...WELL, ...signs }]))).toEqual({
      at: 'command',
      command: expect.stringMatching(/^redis-cli /),
    });
  });

  it.each<[string, Partial<Parameters<typeof outboxVerdictOf>[0]>]>([
    ['an obstacle', { waiting: 1, oldestAgeMs: 61_000, trouble: 'Redis is away' }],
    ['no relay', { waiting: 1, oldestAgeMs: 61_000 }],
    ['failed rows', { failed: 1 }],
    ['refused rows', { setAside: 1, waiting: 1, oldestAgeMs: 61_000 }],
  ])('an outbox with %s leads to its rows, and names no command', (_case, signs) => {
    const { remedyAt, remedy } = overallVerdict(worseFact(null, outboxVerdictOf({ ...QUIET, ...signs })), []);
    expect(remedyAt).toEqual({ at: 'outbox' });
    expect(remedy).not.toContain('npx');
  });

  it.each<[string, Error, string]>([
    ['a newer layout', new QueueLayoutError('email', 9, 3), 'npm install nest-job-queue@latest'],
    [
      'a wrong key',
      new RedisKeyTypeError([{ key: 'queue:email:dead', expected: 'zset', found: 'list' }]),
      'redis-cli TYPE queue:email:dead',
    ],
    ['an unknown wrong key', new RedisKeyTypeError([]), 'npx nest-job-queue doctor email'],
    ['a missing permission', new RedisPermissionError(['the command hset']), 'redis-cli ACL LIST'],
  ])('a queue with %s has a command', (_case, error, command) => {
    const { verdict } = unreadableView(unreadable('email', error), false);
    expect(verdict).toMatchObject({
      remedy: expect.stringMatching(/[^.]\.$/),
      remedyAt: { at: 'command', command },
    });
  });
});
