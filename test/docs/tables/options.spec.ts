// The options in the docs: each is there once, with its default.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import type { GroupsOptions, JobHandlerOptions, JobQueueModuleOptions, QueueOptions } from 'nest-job-queue';
import type { RunWorkersOptions } from 'nest-job-queue/workers';
import { resolveModuleOptions } from '#nest/job-queue.options.js';
import { resolveRunWorkersOptions } from '#processes/options.js';
import { queueOptionFields, resolveQueueOptions } from '#queue/model/queue-options.js';
import { rowsOf } from '../table.js';

/** Options whose default is in words, because it depends on other things. */
const IN_WORDS = ['redis', 'cancelledTtlMs', 'foreignVisibilityMs', 'processes', 'entry'];

/** Returns a default as a table writes it; undefined for no default, and for a default in words. */
function written(option: string, value: unknown): string | undefined {
  if (IN_WORDS.includes(option)) return undefined;
  if (typeof value === 'number') return value === 0 ? 'none' : value.toLocaleString('en');
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined;
}

/** Holds a table against the names of all options, and those of their defaults that are a single value. */
function expectTold(mark: string, doc: string, options: readonly string[], defaults: object) {
  const rows = rowsOf(mark, doc)
    .slice(2)
    .map(([names, said]) => ({
      names: [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
      said: said!.replace(/[`']/g, '').split(', '),
    }));
  expect(rows.flatMap(({ names }) => names).toSorted()).toEqual(options.toSorted());
  const values = new Map<string, unknown>(Object.entries(defaults));
  for (const { names, said } of rows) {
    const wanted = names.flatMap((name) => written(name, values.get(name)) ?? []);
    expect({ names, said }).toEqual({ names, said: expect.arrayContaining(wanted) });
  }
}

it('the module options have a row each, with the default', () => {
  const options: Record<Exclude<keyof JobQueueModuleOptions, keyof QueueOptions> | 'limits', true> = {
    redis: true,
    memoryInProduction: true,
    requireRedis: true,
    queues: true,
    limits: true,
    worker: true,
    maintenance: true,
    concurrency: true,
    shutdownTimeoutMs: true,
    middleware: true,
    globalEnhancers: true,
    currentJob: true,
    logContext: true,
    logFailures: true,
    audit: true,
    onTrip: true,
    onVerdict: true,
    app: true,
    version: true,
    profiles: true,
  };
  const { queueDefaults, ...resolved } = resolveModuleOptions({});
  // memoryInProduction only allows a value of `redis`, and `app` depends on the working directory.
  const defaults = { ...resolved, memoryInProduction: false, app: undefined };
  expect(queueDefaults).toEqual({});
  expectTold('module options', 'docs/options.md', Object.keys(options), defaults);
});

it('the options of a queue have a row each, with the default', () => {
  const options = [...Object.keys(queueOptionFields), 'concurrency', 'prefetch', 'spread'];
  expectTold('queue options', 'docs/options.md', options, {
    ...resolveQueueOptions('a queue'),
    concurrency: 10,
    spread: 1,
  });
});

it('the options of groups have a row each, with the default', () => {
  const options: Record<keyof GroupsOptions, true> = {
    maxRunning: true,
    rateLimit: true,
    weight: true,
    maxPending: true,
    maxPendingBytes: true,
    onDeadHead: true,
    ungroupedWeight: true,
    overrides: true,
  };
  expectTold('group options', 'docs/options.md', Object.keys(options), {
    weight: 1,
    onDeadHead: 'skip',
    ungroupedWeight: 1,
  });
});

it('the options of @JobHandler are in the README', () => {
  // The compiler refuses it where an option is missing.
  const options: Record<keyof JobHandlerOptions, true> = {
    maxAttempts: true,
    maxCrashes: true,
    maxRateLimitRetries: true,
    maxSnoozes: true,
    backoff: true,
    timeoutMs: true,
    timeoutGraceMs: true,
    slots: true,
    keepResult: true,
    resultTtlMs: true,
    thread: true,
    bulk: true,
    stream: true,
    queue: true,
    connection: true,
    concurrency: true,
    prefetch: true,
    spread: true,
    visibilityMs: true,
    maxRunning: true,
    rateLimit: true,
    limits: true,
    groups: true,
    maxPending: true,
    maxPendingBytes: true,
    onFull: true,
  };
  const text = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, told] = /Options of `@JobHandler`, .*:\n\n((?:[- ].*\n)+)/.exec(text)!;
  expect([...told!.matchAll(/`(\w+)`/g)].map(([, option]) => option!).toSorted()).toEqual(
    Object.keys(options).toSorted(),
  );
});

it('the options of runWorkers have a row each, with the default', () => {
  // The compiler refuses it where an option is missing.
  const options: Record<keyof RunWorkersOptions, true> = {
    processes: true,
    name: true,
    entry: true,
    env: true,
    stopTimeoutMs: true,
    restartDelayMs: true,
    longestRestartDelayMs: true,
    stableMs: true,
    bootTimeoutMs: true,
    maxBootFailures: true,
    hangTimeoutMs: true,
    ownsProcess: true,
    metrics: true,
    readyFile: true,
    logger: true,
  };
  const defaults = resolveRunWorkersOptions({ entry: fileURLToPath(import.meta.url) });
  expectTold('worker process options', 'docs/options.md', Object.keys(options), defaults);
});
