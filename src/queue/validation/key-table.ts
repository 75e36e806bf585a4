/** The types of keys, in the words of TYPE. */
export type KeyType = 'string' | 'list' | 'hash' | 'zset' | 'stream';

/**
 * Who ends a key, and when.
 *
 * - entries: the script that removes its last entry. A job, a schedule, a batch or a unique key takes its own along
 * - idle: the last worker that stops, maintenance or a purge, once the queue has neither a job nor a worker
 * - time: Redis, by the expiry that each write renews
 * - capped: only a purge of everything; each write drops the oldest entries beyond the cap
 * - stays: only a purge of everything; its size does not grow with the jobs
 */
export type KeyEnd = 'entries' | 'idle' | 'time' | 'capped' | 'stays';

/** The KEYS of every script outside the hot path, in the order of `lua/lib/core/keys.lua`. See `KEYS`. */
export const STANDARD_KEYS = {
  /** The start of every job's key, before the job's id. */
  jobPrefix: ['job:', 'hash', 'entries'],
  pending: ['pending', 'list', 'entries'],
  prioritized: ['prioritized', 'zset', 'entries'],
  scheduled: ['scheduled', 'zset', 'entries'],
  claims: ['claims', 'zset', 'entries'],
  processing: ['processing', 'list', 'entries'],
  completed: ['completed', 'list', 'entries'],
  failed: ['failed', 'list', 'entries'],
  cancelled: ['cancelled', 'list', 'entries'],
  dead: ['dead', 'zset', 'entries'],
  unique: ['unique', 'hash', 'entries'],
  uniqueExpiries: ['unique_expiries', 'zset', 'entries'],
  stats: ['stats', 'hash', 'stays'],
  sequence: ['sequence', 'string', 'stays'],
  wake: ['wake', 'zset', 'idle'],
  events: ['events', 'channel', 'entries'],
  settings: ['settings', 'hash', 'stays'],
  sweep: ['sweep', 'hash', 'idle'],
  workers: ['workers', 'zset', 'idle'],
  foreignClaims: ['foreign_claims', 'zset', 'idle'],
  handlerLimits: ['handler_limits', 'hash', 'idle'],
  scheduleDue: ['schedule_due', 'zset', 'entries'],
  scheduleOwners: ['schedule_owners', 'zset', 'entries'],
  /** The start of every schedule's key, before its id. */
  schedulePrefix: ['schedule:', 'hash', 'entries'],
  retention: ['retention', 'hash', 'idle'],
  names: ['names', 'zset', 'idle'],
  /** The start of a nudge's key, before the worker's id. */
  nudgePrefix: ['nudge:', 'zset', 'time'],
  /** The batches of this queue. */
  batches: ['batches', 'zset', 'entries'],
  /** The start of a batch's keys, before its id. */
  batchRecordPrefix: ['batch_record:', 'hash', 'entries'],
  remoteMembers: ['remote_members', 'hash', 'entries'],
  batchOutbox: ['batch_outbox', 'hash', 'entries'],
  awaiting: ['awaiting', 'zset', 'entries'],
  /** The start of the keys of groups; `docs/internals/groups.md` lists them. */
  groupsPrefix: ['groups:', 'groups', 'entries'],
  /** The kinds of error of the dead letters; `docs/internals/error-kinds.md` says how they are counted. */
  errorKinds: ['error_kinds', 'hash', 'idle'],
  /** The ids that callers gave to jobs which have ended, as long as they are known. */
  endedIds: ['ended_ids', 'zset', 'entries'],
  /** The ended jobs whose records are kept until they were read. */
  keptResults: ['kept_results', 'zset', 'entries'],
} as const satisfies Record<string, readonly [part: string, type: string, end: KeyEnd]>;

/** The keys of a queue: each with its part after the name of the queue, its type, and its end. An id follows a colon. */
export const KEYS = {
  ...STANDARD_KEYS,
  /** The start of the key of a replacement, before the request or the id that replaced. */
  replacedPrefix: ['replaced:', 'string', 'time'],
  /** The idle workers that a script wakes over their channels, in a Cluster. */
  waiters: ['waiters', 'zset', 'time'],
  maintainers: ['maintainers', 'hash', 'time'],
  workerDetails: ['worker_details', 'hash', 'time'],
  actions: ['actions', 'stream', 'capped'],
  bulkRuns: ['bulk_runs', 'hash', 'time'],
  audit: ['audit', 'stream', 'capped'],
  /** The lines of ended jobs: one of both gets the new ones, see `lua/lib/audit/outcomes.lua`. */
  outcomesA: ['outcomes_a', 'hash', 'time'],
  outcomesB: ['outcomes_b', 'hash', 'time'],
  historyOpen: ['history_open', 'hash', 'time'],
  history: ['history', 'stream', 'time'],
  /** Deploys, outages and dead workers; `lua/lib/reclaim/crash_claims.lua` spells it too. */
  historyMarks: ['history_marks', 'stream', 'time'],
  /** The start of the key of a batch of times, before the worker's id. */
  historyBatchPrefix: ['history_batch:', 'string', 'time'],
  /** The batches that have not ended, by the time of their creation; `lua/lib/batch/by_age.lua` spells it too. */
  batchesByAge: ['batches_by_age', 'zset', 'entries'],
  /** The batches that have ended, as long as their records are there; `lua/lib/batch/end_batch.lua` spells it too. */
  batchesEnded: ['batches_ended', 'zset', 'time'],
  /** The jobs that are parked for a signal or a sleep; `lua/lib/signal/parked.lua` spells it too. */
  awaitingSignals: ['awaiting_signals', 'zset', 'entries'],
  /** The largest fence of each source of entries. */
  onceFences: ['once_fences', 'hash', 'stays'],
  /** The start of the key with the marks of a source's entries, before the source. */
  oncePrefix: ['once:', 'zset', 'entries'],
  /** What people said of kinds of error; `lua/dead-letter/mark-kind.lua` bounds it. */
  errorMarks: ['error_marks', 'hash', 'time'],
  /** The record of the alerts that were told. */
  alerts: ['alerts', 'hash', 'time'],
  /** The start of a job's stream, and of its channel, before the job's id; `lua/lib/stream/forget.lua` spells it too. */
  streamPrefix: ['stream:', 'stream', 'time'],
  /** The jobs that have a stream, by the next look at each; `lua/lib/stream/forget.lua` spells it too. */
  streams: ['streams', 'zset', 'entries'],
  /** The last profile of a job, or the request for one. */
  profile: ['profile', 'hash', 'time'],
  /** The start of the key with a claimer's last batch, so that a repeated claim gets the same jobs. */
  batchPrefix: ['batch:', 'string', 'time'],
} as const satisfies Record<string, readonly [part: string, type: string, end: KeyEnd]>;

/**
 * When maintenance sweeps a queue for a place that holds something.
 *
 * - round: each round, because jobs there have not ended, or other queues wait for its news
 * - minute: once a minute, for failures and for jobs that are all due later
 * - remains: at a look for what becomes old, once in ten minutes
 * - never: another part of the worker looks at it
 */
type Swept = 'round' | 'minute' | 'remains' | 'never';

/**
 * The parts of a queue that exist only while they hold something. Each has its key, and when maintenance sweeps for it.
 * A look for `due` finds it in a queue with a scheduled job that is due. It finds `scheduled` instead if all are due later.
 */
export const PLACES = {
  pending: [KEYS.pending[0], 'round'],
  prioritized: [KEYS.prioritized[0], 'round'],
  due: [KEYS.scheduled[0], 'round'],
  claims: [KEYS.claims[0], 'round'],
  processing: [KEYS.processing[0], 'round'],
  groupDepths: [`${KEYS.groupsPrefix[0]}depths`, 'round'],
  groupsGated: [`${KEYS.groupsPrefix[0]}gated`, 'round'],
  batches: [KEYS.batches[0], 'round'],
  remoteMembers: [KEYS.remoteMembers[0], 'round'],
  batchOutbox: [KEYS.batchOutbox[0], 'round'],
  awaiting: [KEYS.awaiting[0], 'round'],
  keptResults: [KEYS.keptResults[0], 'round'],
  failed: [KEYS.failed[0], 'minute'],
  scheduled: [KEYS.scheduled[0], 'minute'],
  completed: [KEYS.completed[0], 'remains'],
  cancelled: [KEYS.cancelled[0], 'remains'],
  dead: [KEYS.dead[0], 'remains'],
  unique: [KEYS.unique[0], 'remains'],
  uniqueExpiries: [KEYS.uniqueExpiries[0], 'remains'],
  endedIds: [KEYS.endedIds[0], 'remains'],
  streams: [KEYS.streams[0], 'remains'],
  scheduleOwners: [KEYS.scheduleOwners[0], 'remains'],
  groupsResting: [`${KEYS.groupsPrefix[0]}resting`, 'remains'],
  scheduleDue: [KEYS.scheduleDue[0], 'never'],
  wake: [KEYS.wake[0], 'never'],
} as const satisfies Record<string, readonly [part: string, swept: Swept]>;

/** A part of a queue that exists only while it holds something. */
export type Place = keyof typeof PLACES;

/** Returns the places for which maintenance sweeps at such times. */
export function placesSwept(swept: Swept): readonly Place[] {
  return (Object.keys(PLACES) as Place[]).filter((place) => PLACES[place][1] === swept);
}

/** The most rates of a limit that queues share. */
export const MOST_RATES = 8;

/**
 * The keys of a limit that queues share, in the order of the scripts. Each has its part after the name of the limit. They are
 * of no queue, so no purge deletes them. Their size does not grow with the jobs.
 */
export const SHARED_LIMIT_KEYS = {
  limit: ['', 'hash'],
  permits: [':permits', 'zset'],
  waiting: [':waiting', 'zset'],
  seen: [':seen', 'zset'],
  /** The start of the key of each rate, before its number. */
  ratePrefix: [':rate:', 'hash'],
  /** The queues whose workers named it in the last 30 days. */
  queues: [':queues', 'zset'],
  /** Its keys that were used last. Each key has a store of its own, which has none of these parts, and no `queues`. */
  keys: [':keys', 'zset'],
  /** Its keys without a free permit for which jobs wait. */
  full: [':full', 'zset'],
  /** Its paused or resting keys for which jobs wait. */
  closed: [':closed', 'zset'],
} as const satisfies Record<string, readonly [part: string, type: string]>;

const parts = Object.values(KEYS).map(([part]) => part);

/** The parts of the keys that end with no id, and of the channel. */
export const PARTS: ReadonlySet<string> = new Set(parts.filter((part) => !part.endsWith(':')));

/**
 * The parts of a queue's keys before an id or a name, as `job` in `queue:report:job:7`. A queue `report:job` would have
 * such keys too.
 */
export const PARTS_BEFORE_IDS = parts.filter((part) => part.endsWith(':')).map((part) => part.slice(0, -1));
