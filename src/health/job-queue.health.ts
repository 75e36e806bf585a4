import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { z } from 'zod';
import { joinSigns, joinVerdicts, type KnownQueue } from '../inspect/join-shards.js';
import { OtherQueues } from '../inspect/other-queues.js';
import type { QueueSigns, QueueVerdict } from '../inspect/queue-signs.js';
import { outboxSentence, readOutboxVerdict, type OutboxVerdict } from '../inspect/outbox-verdict.js';
import { readServerVerdict, type ServerVerdict } from '../inspect/server-verdict.js';
import { readSigns } from '../inspect/signs.js';
import { isUnmaintained } from '../inspect/stuck-rules.js';
import { unreadable, unreadableByAny } from '../inspect/unreadable.js';
import { verdictOf } from '../inspect/verdict.js';
import { DEFAULT_CONNECTION, partToken } from '../nest/connection/connection-tokens.js';
import type { QueueRegistry } from '../nest/connection/queue-registry.js';
import type { WorkerLifecycle } from '../nest/lifecycle/worker-lifecycle.js';
import { InvalidOptionError, RedisUnsuitableError } from '../queue/errors/errors.js';
import { loadPeer } from '../queue/errors/load-peer.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import { systemClock, outsideOfCaller } from '../queue/runtime/clock.js';
import { keptIn } from '../queue/runtime/collections.js';
import { within } from '../queue/runtime/waits.js';
import { duration, wholeNumber, flag } from '../queue/validation/numbers.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import {
  type JobQueueHealthOptions,
  type JobQueueHealthReport,
  type QueueHealth,
  type UnreadableQueueHealth,
  type WorkerHealth,
  fails,
  reasonsAgainst,
  unheardText,
  warningsOf,
} from './health-report.js';

/** The share of the time of a check that the shards of a queue have. One that is away then does not make the check fail. */
const SHARD_SHARE = 0.8;

/** The signs of a queue. With shards it has the verdict on them. */
type SignsWithVerdict = QueueSigns & { verdict?: QueueVerdict };
type ReadQueue = SignsWithVerdict | QueueVerdict;

const count = () => wholeNumber(0, Number.MAX_SAFE_INTEGER).optional();
const optionsSchema = z.strictObject(
  {
    queues: z
      .array(z.string({ error: "expected a queue's name" }), { error: 'expected an array of queue names' })
      .readonly()
      .optional(),
    connection: z.string({ error: 'expected the name of a connection' }).default(DEFAULT_CONNECTION),
    maxPending: count(),
    maxOldestPendingAgeMs: duration(0).optional(),
    maxFailed: count(),
    maxExpiredClaims: count(),
    maxSinceLastFetchMs: duration(1).optional(),
    maxUnservedMs: duration(0).optional(),
    unservedWarningMs: duration(0).default(60_000),
    requireWorker: flag.default(false),
    failOn: z.enum(['warning', 'critical'], { error: "expected 'warning' or 'critical'" }).optional(),
    otherQueues: flag.default(true),
    timeoutMs: duration(1).default(1_000),
  },
  { error: 'expected an object of health options' },
);

/**
 * Reports the state of the queues to a health check of \@nestjs/terminus, over the app's existing connection. Replies
 * within `timeoutMs`, also when Redis is gone.
 *
 * @example
 * \@Get('health')
 * \@HealthCheck()
 * health() {
 *   return this.health.check([() => this.jobQueue.check('jobs', { maxOldestPendingAgeMs: 60_000, requireWorker: true })]);
 * }
 */
@Injectable()
export class JobQueueHealthIndicator implements OnModuleInit {
  private loaded: Promise<HealthIndicatorService> | undefined;

  constructor(private readonly app: ModuleRef) {}

  /**
   * Loads terminus when the app starts.
   *
   * @throws InvalidOptionError where `@nestjs/terminus` is not installed
   */
  async onModuleInit(): Promise<void> {
    await this.indicators();
  }

  /**
   * Checks the connection, the worker and the queues.
   *
   * @param key the name of the report in the result
   * @returns up or down, with the depths of each queue, the worker and Redis. `message` has the reason if it is down.
   * @throws InvalidOptionError for a bad option, or a connection that the app does not have
   */
  async check<const Key extends string = 'jobQueue'>(
    key: Key = 'jobQueue' as Key,
    options: JobQueueHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key, 'up' | 'down', JobQueueHealthReport>> {
    const limits = checkOptions(`health check "${key}"`, optionsSchema, options);
    const { registry, lifecycle } = this.partsOf(limits.connection);
    const names = limits.queues ?? [...new Set(registry.all.map((queue) => registry.wholeOf(queue.name)))];
    const queues = names.map((name) => registry.shardsOf(name));
    const session = (await this.indicators()).check(key);
    const worker = workerHealth(lifecycle);
    const started = performance.now();
    let latencyMs = 0;
    let read: ReadQueue[];
    let server: ServerVerdict | undefined;
    const watch = limits.otherQueues && !limits.queues ? OtherQueuesWatch.of(registry) : undefined;
    const outboxRead = readOutboxVerdict(registry.outbox, limits.timeoutMs);
    try {
      const { redis } = registry;
      [read] = await redis.askNow(limits.timeoutMs, () => {
        outsideOfCaller(() => watch?.refresh()); // later checks use what it finds
        return Promise.all([
          Promise.all(queues.map((shards) => signsOrVerdict(shards, limits.timeoutMs))),
          readServerVerdict(redis.store, limits.timeoutMs * SHARD_SHARE).then((verdict) => (server = verdict)),
          redis.ping().then(() => (latencyMs = Math.round((performance.now() - started) * 10) / 10)),
        ]);
      });
    } catch (error) {
      return session.down({ message: (error as Error).message, redis: { reachable: false }, ...worker });
    }
    const signs = read.filter((each) => 'stats' in each);
    const byName = Object.fromEntries(signs.map((each) => [each.queue, queueHealth(each)]));
    const trouble = server && server.severity !== 'ok' ? server : undefined;
    const isFatal = trouble !== undefined && fails(trouble.severity, limits.failOn);
    const outbox = outboxHealth(await outboxRead, limits.failOn);
    const reasons = [
      ...refusalOf(lifecycle),
      ...(isFatal ? [trouble.summary] : []),
      ...outbox.reasons,
      ...read.flatMap((each) => ('stats' in each ? [] : [`${each.queue}: ${each.summary}`])),
      ...reasonsAgainst(limits, byName, worker.worker),
    ];
    const warnings = [
      ...(trouble && !isFatal ? [trouble.summary] : []),
      ...outbox.warnings,
      ...warningsOf(
        limits,
        byName,
        lifecycle.workers.flatMap(({ longRuns }) => longRuns),
      ),
      ...unheardText(lifecycle.workers.flatMap(({ unheard }) => unheard)),
      ...(watch?.latest ?? []).map(({ queue, summary }) => `${queue}, which this app does not know: ${summary}`),
    ];
    const report: JobQueueHealthReport = {
      ...(warnings.length > 0 && { warnings }),
      redis: { reachable: true, latencyMs, ...(trouble && { verdict: trouble }) },
      ...worker,
      ...(outbox.verdict && { outbox: outbox.verdict }),
      queues: { ...byName, ...unreadableHealth(read) },
    };
    return reasons.length > 0 ? session.down({ message: reasons.join('; '), ...report }) : session.up(report);
  }

  /** Creates the service here, so that the module of the queues need not import TerminusModule. */
  private indicators(): Promise<HealthIndicatorService> {
    return (this.loaded ??= loadPeer(
      '@nestjs/terminus',
      'JobQueueHealthIndicator',
      'whose health checks it is part of',
      () => import('@nestjs/terminus'),
    ).then((terminus) => new terminus.HealthIndicatorService()));
  }

  /** @throws InvalidOptionError for a connection that the app does not have */
  private partsOf(connection: string): { registry: QueueRegistry; lifecycle: WorkerLifecycle } {
    const [queues, lifecycle] = [partToken('queues', connection), partToken('lifecycle', connection)];
    try {
      return {
        registry: this.app.get<QueueRegistry>(queues, { strict: false }),
        lifecycle: this.app.get<WorkerLifecycle>(lifecycle, { strict: false }),
      };
    } catch {
      throw new InvalidOptionError(
        'health check: connection',
        'the name of a JobQueueModule.forRoot',
        show(connection),
      );
    }
  }
}

/** Returns what the verdict on the outbox says: why the check fails, or a warning. */
function outboxHealth(verdict: OutboxVerdict | undefined, failOn: JobQueueHealthOptions['failOn']) {
  if (!verdict || verdict.severity === 'ok') {
    return { verdict, reasons: [], warnings: [] };
  }
  const words = [outboxSentence(verdict)];
  return fails(verdict.severity, failOn)
    ? { verdict, reasons: words, warnings: [] }
    : { verdict, reasons: [], warnings: words };
}

/** Reads the signs of a queue, or returns the verdict on an unreadable one. @param shards the queue, or all of its shards */
async function signsOrVerdict(shards: readonly JobQueue[], timeoutMs: number): Promise<ReadQueue> {
  const [queue] = shards as [JobQueue];
  if (shards.length === 1) {
    return readSigns(queue).catch((error: unknown) => unreadable(queue.name, error));
  }
  const limitMs = timeoutMs * SHARD_SHARE;
  const known = await Promise.all(
    shards.map(async (shard): Promise<KnownQueue> => {
      try {
        const signs = await within(systemClock, limitMs, readSigns(shard), () => {
          throw new RedisUnsuitableError(`its master did not answer within ${limitMs} ms`);
        });
        return { signs, verdict: verdictOf(signs) };
      } catch (error) {
        return { verdict: unreadableByAny(shard.name, error) };
      }
    }),
  );
  const verdict = joinVerdicts(queue.name, known);
  const read = known.flatMap(({ signs }) => signs ?? []);
  return read.length > 0 ? { ...joinSigns(queue.name, read), verdict } : verdict;
}

/** Returns the audit's refusal of a producer's Redis; for a worker it is why that could not start. */
function refusalOf({ expected, startFailure }: WorkerLifecycle): string[] {
  return startFailure && !expected ? [startFailure.message] : [];
}

function workerHealth(lifecycle: WorkerLifecycle): { worker?: WorkerHealth } {
  const { workers, startFailure, expected, sinceLastFetchMs, stuck } = lifecycle;
  if (!expected) {
    return {};
  }
  return {
    worker: {
      running: workers.reduce((sum, { running }) => sum + running, 0),
      sinceLastFetchMs,
      ...(stuck.length > 0 && { stuck }),
      ...(startFailure && { error: startFailure.message }),
    },
  };
}

function queueHealth(signs: SignsWithVerdict): QueueHealth {
  const { stats } = signs;
  const { queue: _queue, ...verdict } = signs.verdict ?? verdictOf(signs);
  const { pending, processing, scheduled, completed, failed, oldestPendingAgeMs, expiredClaims, workers } = stats;
  const paused = stats.pausedAt !== null;
  return {
    pending,
    processing,
    scheduled,
    completed,
    failed,
    oldestPendingAgeMs,
    expiredClaims,
    workers,
    paused,
    verdict,
    ...(stats.parked !== undefined && { parked: stats.parked }),
    ...(stats.unserved.length > 0 && { unserved: stats.unserved }),
    ...(isUnmaintained(signs) && { maintenanceOverdue: true as const }),
  };
}

/** Returns a row for each queue that could not be read. */
function unreadableHealth(read: readonly ReadQueue[]): Record<string, UnreadableQueueHealth> {
  const verdicts = read.flatMap((each) => ('stats' in each ? [] : [each]));
  return Object.fromEntries(verdicts.map(({ queue, ...verdict }) => [queue, { verdict }]));
}

/** The time between two readings of the queues that the app does not know, in ms. A check asks each few seconds. */
const OTHERS_KEPT_MS = 30_000;
/** The most queues of a reading. */
const MOST_OTHERS = 50;

/** Reads the verdicts on the queues of a Redis that the app does not know. */
class OtherQueuesWatch {
  private static readonly known = new WeakMap<QueueRegistry, OtherQueuesWatch>();
  private readonly others: OtherQueues;
  private verdicts: readonly QueueVerdict[] = [];
  private readAtMs = -Infinity;
  private reading: Promise<void> | undefined;

  static of(registry: QueueRegistry): OtherQueuesWatch {
    return keptIn(OtherQueuesWatch.known, registry, () => new OtherQueuesWatch(registry));
  }

  private constructor(private readonly registry: QueueRegistry) {
    this.others = new OtherQueues((name) => registry.reference(name));
  }

  /** Returns the verdicts of the last reading on the queues that need a look. */
  get latest(): readonly QueueVerdict[] {
    return this.verdicts;
  }

  /** Starts the next reading when it is due. A check never waits for it, and never fails by it. */
  refresh(): void {
    const now = performance.now();
    if (this.reading || now - this.readAtMs < OTHERS_KEPT_MS) {
      return;
    }
    this.readAtMs = now;
    this.reading = this.look()
      .then(
        (verdicts) => void (this.verdicts = verdicts),
        (error: unknown) =>
          this.registry.redis.store.logger.warn(
            `Could not read the other queues of this Redis: ${error instanceof Error ? error.message : String(error)}`,
          ),
      )
      .finally(() => (this.reading = undefined));
  }

  private async look(): Promise<QueueVerdict[]> {
    const own = this.registry.all.map((queue) => queue.name);
    await this.others.look(own);
    const names = this.others.names.filter((name) => !this.registry.has(name)).slice(0, MOST_OTHERS);
    const all = await Promise.all(names.map((name) => this.verdictOn(name)));
    return all.filter(({ severity }) => severity === 'warning' || severity === 'critical');
  }

  private verdictOn(name: string): Promise<QueueVerdict> {
    return readSigns(this.registry.reference(name)).then(verdictOf, (error: unknown) =>
      unreadableByAny(name, error),
    );
  }
}
