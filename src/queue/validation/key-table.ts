/** The types of keys, in the words of TYPE. */
export type KeyType = 'string' | 'list' | 'hash' | 'zset' | 'stream';

/** The KEYS of every script outside the hot path, in the order of `lua/lib/core/keys.lua`. See `KEYS`. */
export const STANDARD_KEYS = {
  /** The start of every job's key, before the job's id. */
  jobPrefix: ['job:', 'hash'],
  pending: ['pending', 'list'],
  prioritized: ['prioritized', 'zset'],
  scheduled: ['scheduled', 'zset'],
  claims: ['claims', 'zset'],
  processing: ['processing', 'list'],
  completed: ['completed', 'list'],
  failed: ['failed', 'list'],
  cancelled: ['cancelled', 'list'],
  dead: ['dead', 'zset'],
  unique: ['unique', 'hash'],
  uniqueExpiries: ['unique_expiries', 'zset'],
  stats: ['stats', 'hash'],
  sequence: ['sequence', 'string'],
  wake: ['wake', 'zset'],
  events: ['events', 'channel'],
  settings: ['settings', 'hash'],
  sweep: ['sweep', 'hash'],
  workers: ['workers', 'zset'],
  foreignClaims: ['foreign_claims', 'zset'],
  handlerLimits: ['handler_limits', 'hash'],
  scheduleDue: ['schedule_due', 'zset'],
  scheduleOwners: ['schedule_owners', 'zset'],
  /** The start of every schedule's key, before its id. */
  schedulePrefix: ['schedule:', 'hash'],
  retention: ['retention', 'hash'],
  names: ['names', 'zset'],
  /** The start of a nudge's key, before the worker's id. */
  nudgePrefix: ['nudge:', 'zset'],
  /** The batches of this queue. */
  batches: ['batches', 'zset'],
  /** The start of a batch's keys, before its id. */
  batchRecordPrefix: ['batch_record:', 'hash'],
  remoteMembers: ['remote_members', 'hash'],
  batchOutbox: ['batch_outbox', 'hash'],
  awaiting: ['awaiting', 'zset'],
  /** The start of the keys of groups; `docs/internals/groups.md` lists them. */
  groupsPrefix: ['groups:', 'groups'],
  /** The kinds of error of the dead letters; `docs/internals/error-kinds.md` says how they are counted. */
  errorKinds: ['error_kinds', 'hash'],
} as const;

/** The keys of a queue: each with its part after the name of the queue, and its type. An id follows a colon. */
export const KEYS = {
  ...STANDARD_KEYS,
  /** The start of the key of a replacement, before the request or the id that replaced. */
  replacedPrefix: ['replaced:', 'string'],
  /** The idle workers that a script wakes over their channels, in a Cluster. */
  waiters: ['waiters', 'zset'],
  maintainers: ['maintainers', 'hash'],
  workerDetails: ['worker_details', 'hash'],
  actions: ['actions', 'stream'],
  bulkRuns: ['bulk_runs', 'hash'],
  audit: ['audit', 'stream'],
  /** The lines of ended jobs: one of both gets the new ones, see `lua/lib/audit/outcomes.lua`. */
  outcomesA: ['outcomes_a', 'hash'],
  outcomesB: ['outcomes_b', 'hash'],
  historyOpen: ['history_open', 'hash'],
  history: ['history', 'stream'],
  historyMarks: ['history_marks', 'stream'],
  /** The start of the key of a batch of times, before the worker's id. */
  historyBatchPrefix: ['history_batch:', 'string'],
  /** The batches that have not ended, by the time of their creation; `lua/lib/batch/by_age.lua` spells it too. */
  batchesByAge: ['batches_by_age', 'zset'],
  /** The batches that have ended, as long as their records are there; `lua/lib/batch/end_batch.lua` spells it too. */
  batchesEnded: ['batches_ended', 'zset'],
  /** The largest fence of each source of entries. */
  onceFences: ['once_fences', 'hash'],
  /** The start of the key with the marks of a source's entries, before the source. */
  oncePrefix: ['once:', 'zset'],
  /** The record of the alerts that were told. */
  alerts: ['alerts', 'hash'],
  /** The start of the key with a claimer's last batch, so that a repeated claim gets the same jobs. */
  batchPrefix: ['batch:', 'string'],
} as const;

const parts = Object.values(KEYS).map(([part]) => part);

/** The parts of the keys that end with no id, and of the channel. */
export const PARTS: ReadonlySet<string> = new Set(parts.filter((part) => !part.endsWith(':')));

/**
 * The parts of a queue's keys before an id or a name, as `job` in `queue:report:job:7`. A queue `report:job` would have
 * such keys too.
 */
export const PARTS_BEFORE_IDS = parts.filter((part) => part.endsWith(':')).map((part) => part.slice(0, -1));
