// The table of all instruments. Prometheus and OpenTelemetry are made from it, and tests compare the docs and the
// dashboard with it.

/** Seconds. From 5 ms to an hour: a job may be quick or long. */
export const DURATION_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
] as const;

/** A label of an instrument. The id and the group of a job are never labels. */
type Label = keyof Labels;

/** One instrument, by its name in OpenTelemetry. */
export interface Instrument {
  /** `fleet`: read from Redis at a scrape, the same in each process. `process`: what this process did. */
  source: 'fleet' | 'process';
  kind: 'counter' | 'gauge' | 'histogram';
  name: string;
  /** `s`: seconds. `By`: bytes. Absent: a number of things. */
  unit?: 's' | 'By';
  help: string;
  labels: readonly Label[];
}

export const INSTRUMENTS = {
  up: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.up',
    help: 'Whether Redis answered when the queue was last looked at: 1 or 0',
    labels: ['queue'],
  },
  depth: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.depth',
    help: 'Jobs by state: pending, scheduled, processing; completed and cancelled as far as they are kept',
    labels: ['queue', 'state'],
  },
  parked: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.parked',
    help: 'Scheduled jobs that wait for a signal or sleep; they are no backlog',
    labels: ['queue'],
  },
  deadLetters: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.dead_letters',
    help: 'Jobs that have failed for good and are kept',
    labels: ['queue'],
  },
  errorKinds: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.error_kinds',
    help: 'Kinds of error among the dead letters, at most 101',
    labels: ['queue'],
  },
  oldestAge: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.oldest_pending.age',
    unit: 's',
    help: 'How long the oldest waiting job has been claimable',
    labels: ['queue'],
  },
  unheldAge: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.oldest_unheld.age',
    unit: 's',
    help: 'The same of the jobs that no group holds back by a pause, a limit or a job of its own',
    labels: ['queue'],
  },
  scheduleLate: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.schedule.late',
    unit: 's',
    help: 'How long the run of a schedule has been due without being made; 0 if all are on time',
    labels: ['queue'],
  },
  unserved: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.unserved_names',
    help: 'Names among the first waiting jobs that no live worker handles',
    labels: ['queue'],
  },
  expiredClaims: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.expired_claims',
    help: 'Expired claims that were not yet reclaimed',
    labels: ['queue'],
  },
  maintenance: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.maintenance.age',
    unit: 's',
    help: 'How long ago a process last maintained the queue; absent where none did yet',
    labels: ['queue'],
  },
  workers: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.workers',
    help: 'Worker processes that serve the queue',
    labels: ['queue'],
  },
  slots: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.slots',
    help: 'How many slots the workers of the queue have; a job may take several; absent where one does not say so',
    labels: ['queue'],
  },
  paused: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.paused',
    help: 'Whether the queue is paused for the whole fleet: 1 or 0',
    labels: ['queue'],
  },
  jobs: {
    source: 'fleet',
    kind: 'counter',
    name: 'job_queue.jobs',
    help: 'Jobs of the whole fleet since the queue exists, by event: enqueued, completed, failed, retried, reclaimed, crashed, rate_limited, limited and others',
    labels: ['queue', 'event'],
  },
  limitRunning: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.shared_limit.running',
    help: 'Jobs of all queues that hold a permit of a limit that they share',
    labels: ['limit'],
  },
  limitMost: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.shared_limit.max_running',
    help: 'How many jobs a shared limit lets run at once; absent where it does not bound them',
    labels: ['limit'],
  },
  limitWaiting: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.shared_limit.waiting_queues',
    help: 'Queues whose jobs wait for a shared limit, at most 100',
    labels: ['limit'],
  },
  limitClosed: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.shared_limit.closed',
    help: 'Whether a shared limit is paused or rests, so that no job of it starts: 1 or 0',
    labels: ['limit'],
  },
  limitKeys: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.shared_limit.waiting_keys',
    help: 'Keys of a shared limit for which jobs waited in the last seconds, by state: full without a free permit, closed while paused or resting; absent where no queue names it with a key',
    labels: ['limit', 'state'],
  },
  awaitingPermit: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.awaiting_permit',
    help: 'Waiting jobs whose group rests until its key of a shared limit has a free permit',
    labels: ['queue'],
  },
  outboxRows: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.outbox.rows',
    help: 'Rows of the outbox by state: waiting, set_aside until their next attempt, failed; at most 10,000 of each',
    labels: ['state'],
  },
  outboxAge: {
    source: 'fleet',
    kind: 'gauge',
    name: 'job_queue.outbox.oldest.age',
    unit: 's',
    help: 'How long the oldest row of the outbox has waited for its job; 0 if none waits',
    labels: [],
  },
  outboxRelayed: {
    source: 'process',
    kind: 'counter',
    name: 'job_queue.outbox.relayed',
    help: 'Rows of the outbox that this process has moved to their queue',
    labels: ['queue'],
  },
  attempts: {
    source: 'process',
    kind: 'counter',
    name: 'job_queue.attempts',
    help: 'Attempts that ended in this process, by outcome: completed, retry, failed, cancelled, released, lost',
    labels: ['queue', 'name', 'outcome'],
  },
  stuck: {
    source: 'process',
    kind: 'counter',
    name: 'job_queue.stuck_handlers',
    help: 'Handlers that continued although their signal was aborted',
    labels: ['queue', 'name'],
  },
  streamChunks: {
    source: 'process',
    kind: 'counter',
    name: 'job_queue.stream.chunks',
    help: 'Chunks that jobs of this process have streamed, counted when the attempt ends',
    labels: ['queue', 'name'],
  },
  streamBytes: {
    source: 'process',
    kind: 'counter',
    name: 'job_queue.stream.written',
    unit: 'By',
    help: 'Bytes of these chunks, as stored',
    labels: ['queue', 'name'],
  },
  running: {
    source: 'process',
    kind: 'gauge',
    name: 'job_queue.running',
    help: 'Handlers that run in this process now',
    labels: ['queue'],
  },
  wait: {
    source: 'process',
    kind: 'histogram',
    name: 'job_queue.wait.duration',
    unit: 's',
    help: 'From when a job could be claimed to when its first attempt was',
    labels: ['queue', 'name'],
  },
  run: {
    source: 'process',
    kind: 'histogram',
    name: 'job_queue.run.duration',
    unit: 's',
    help: 'From the call of the handler until Redis has taken in how it ended',
    labels: ['queue', 'name', 'outcome'],
  },
  operation: {
    source: 'process',
    kind: 'histogram',
    name: 'job_queue.operation.duration',
    unit: 's',
    help: 'How long a round trip to Redis took in which this process claimed or settled, by operation: claim, settle',
    labels: ['operation'],
  },
} as const satisfies Record<string, Instrument>;

export type InstrumentKey = keyof typeof INSTRUMENTS;

export const INSTRUMENT_LIST = Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][];

/** The endings of names in Prometheus. */
const UNITS = { s: '_seconds', By: '_bytes' } as const;

/**
 * Returns the name in Prometheus, by the rules of OpenTelemetry's exporter: so one dashboard serves both.
 *
 * @example prometheusName(INSTRUMENTS.wait); // "job_queue_wait_duration_seconds"
 */
export function prometheusName({ name, unit, kind }: Instrument): string {
  const base = name.replaceAll('.', '_') + (unit === undefined ? '' : UNITS[unit]);
  return kind === 'counter' ? `${base}_total` : base;
}

/** The labels of one measurement. */
export type Labels = {
  [label in 'queue' | 'shard' | 'limit' | 'name' | 'outcome' | 'state' | 'event' | 'operation']?: string;
};

/** One figure of a scrape. */
export interface FleetFigure {
  key: InstrumentKey;
  labels: Labels;
  value: number;
}
