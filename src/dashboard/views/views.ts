// The responses that the page reads. Types only: both sides import them. Instants are epoch ms by Redis's clock.
import type { RecentPace, Severity } from '../../inspect/queue-signs.js';
import type { Remedy } from '../../inspect/rule.js';
import type { ServerVerdict } from '../../inspect/server-verdict.js';
import type { JobAction } from '../../queue/model/actions.js';
import type { JobReference, BatchFollowUp, BatchMember, BatchRecord } from '../../queue/model/batch.js';
import type { AttemptRecord } from '../../queue/model/job.js';
import type { GroupLimits } from '../../queue/model/limits.js';
import type { ActionAuthor, ActionTarget } from '../../queue/store/action-entry.js';
import type { OutboxRecord } from '../../queue/store/outbox-writer.js';
import type { DashboardAction } from '../dashboard-options.js';
import type { JobPart } from './job-file.js';

export type State = 'pending' | 'scheduled' | 'processing' | 'completed' | 'failed' | 'cancelled';

export type PercentilesView = Record<'p50' | 'p95' | 'p99', number | null>;

export interface QueueView extends QueueVerdictView {
  depths: Record<State, number>;
  /** The number of scheduled jobs that wait for a signal or sleep. */
  parked: number;
  oldestPendingAgeMs: number;
  /** The time until no job waits, at the pace of the last minutes, in words; null where no backlog waits. */
  drains: string | null;
  expiredClaims: number;
  workers: number;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must resume the queue. */
  pausedUntil: number | null;
  /** Who paused it and why, if they said so. Absent while it is not paused. */
  pausedBy?: string;
  pauseReason?: string;
  totals: Record<string, number>;
  /** Jobs per second over the last seconds; null before two readings. */
  rates: RecentPace | null;
  /** The figures of the last hour; null if no attempt ended. */
  lastHour: { failureRate: number | null; waitMs: PercentilesView; runMs: PercentilesView } | null;
  /** Ended jobs of each minute of the last hour, oldest first. */
  spark: number[];
  /** Its limits over the whole fleet, in words; null for none. */
  limits: string | null;
  /** The same as figures. */
  limitsSet: {
    maxRunning?: number;
    rateLimit?: { limit: number; periodMs: number; burst?: number };
    source: 'set' | 'configuration' | 'none';
  } | null;
  /** True if its content is hidden, because no worker has said what to show. Absent otherwise. */
  isHidden?: true;
}

/** A job that a worker has claimed. */
export interface RunningView {
  id: string;
  name: string;
  queue: string;
  label: string;
  attempt: number;
  claimedAt: number | null;
  /** The slots that it takes in its worker. Absent: one. */
  slots?: number;
}

export interface WorkerView {
  id: string;
  host: string;
  pid: number | null;
  seenAt: number;
  /** The number of its slots; null if it does not announce it. A job takes one, or says how many. */
  slots: number | null;
  app: string | null;
  version: string | null;
  startedAt: number | null;
  queues: string[];
  running: RunningView[];
  /** Jobs that it has claimed and not started: they wait for one of its slots. */
  prefetched: RunningView[];
  /** Jobs whose handlers continue although their signals were aborted. */
  stuck: { id: string; name: string; queue: string }[];
  /** The number of jobs that a silent worker holds; null for a live one. */
  holds: number | null;
}

/** A worker that died in the last hour while it ran jobs. */
export interface EndedWorkerView {
  id: string;
  host: string;
  pid: number | null;
  /** The time when its end became known. */
  at: number;
  /** How its end became known, and the uncaught error, if it sent one. */
  how: string;
  /** The number of its jobs that were reclaimed. */
  jobs: number;
  /** Some of them, at most five of each queue. */
  ran: { queue: string; id: string; name: string }[];
}

/** An event on the axis of the overview. */
export interface TimelineEvent {
  at: number;
  kind: 'deploy' | 'outage' | 'pause' | 'resume' | 'limit' | 'death' | 'relay' | 'error';
  text: string;
  /** The page of the event, as the parts of its address. */
  page: string[];
  params?: Record<string, string>;
}

/** An error that several queues have, by its root cause. */
export interface SharedErrorView {
  /** The key of the root cause, for the search. */
  key: string;
  words: string;
  queues: string[];
  count: number;
  /** Its kind in each queue, for an action on all of them. */
  kinds: { queue: string; kind: string; count: number }[];
  since: number;
  /** The deploy shortly before the first death. */
  deploy: { version: string; beforeMs: number } | null;
}

export interface OverviewView {
  at: number;
  /** The verdict on Redis; null if it is unknown. */
  server: ServerVerdict | null;
  /** The verdict on the outbox of the app; null without one. */
  outbox: VerdictView | null;
  /** The verdict on Redis and all queues below, in one sentence. */
  sentence: VerdictView;
  /** The errors with deaths in several queues in the last hour, the most deaths first. */
  errors: SharedErrorView[];
  /** What happened in the last hour, the oldest first. */
  timeline: TimelineEvent[];
  /** The rows of the overview. One with shards has the sums of all, and the highest ages. */
  queues: QueueView[];
  /** Queues without figures, because they could not be read. */
  unreadable: QueueVerdictView[];
  /** The shards of these queues, each as a queue. An unreadable one has no figures. */
  shards: (QueueView | QueueVerdictView)[];
  workers: WorkerView[];
  /** The workers that died in the last hour, the last first. At most a hundred. */
  ended: EndedWorkerView[];
  runs: RunView[];
  /** True if the viewer may see a subscription of a topic. */
  hasTopics: boolean;
  /** The limits that queues share, by name. */
  sharedLimits: SharedLimitView[];
}

export interface SessionView {
  title: string;
  back?: { text: string; href: string };
  /** The dashboards of other servers beside this one. `href` is relative to the folder of this dashboard. */
  servers: { name: string; href: string; isHere: boolean }[];
  readOnly: boolean;
  /** True if the dashboard refuses actions on the queues of other apps. */
  othersReadOnly: boolean;
  user: string;
  actions: DashboardAction[];
}

/** A job as a row of a list. */
export interface JobRow {
  id: string;
  name: string;
  queue: string;
  state: State;
  label: string;
  attempts: number;
  maxAttempts: number | null;
  priority: number;
  group: string | null;
  /** The instant that matters in this state: enqueued, due, claimed or ended. */
  at: number | null;
  enqueuedAt: number;
  worker: string | null;
  /** True if its worker has claimed it and not started it. */
  isPrefetched: boolean;
  error: string | null;
  /** True for a dead letter that killed its last worker. */
  killed: boolean;
  progress: number | null;
  /** The oldest wait of a parked job; null for any other job. */
  parked: { name: string; since: number } | null;
}

export interface JobsPage {
  state: State;
  offset: number;
  total: number;
  jobs: JobRow[];
}

/** One slice of a search or a count. */
interface Slice {
  /** The number of jobs that this slice read. */
  searched: number;
  total: number;
  /** The cursor of the next slice; null at the end. */
  cursor: string | null;
}

export interface SearchPage extends Slice {
  jobs: JobRow[];
  /** The number of jobs that may match, and whose payload could not be looked into. */
  unread: number;
}

/** The number of matches in a slice. */
export interface CountPage extends Slice {
  found: number;
}

/** Dead letters of one kind of error. */
export interface ErrorGroupView {
  key: string;
  name: string;
  sample: string;
  count: number;
  firstAt: number | null;
  lastAt: number | null;
  /** About how many died in the last hour. Null if unknown, as the two above. */
  lastHour: number | null;
  /** True if the kind had no dead letter an hour ago. */
  isNew: boolean;
  /** What people said of it, in words. Absent for nothing. */
  mark?: { words: string; comesAgain: boolean };
}

export interface ErrorGroupsPage extends Slice {
  groups: ErrorGroupView[];
}

export interface AttemptView {
  attempt: number;
  startedAt: number;
  endedAt: number | null;
  /** The earliest start: the enqueue, the due time, or the end of the previous attempt and its backoff. */
  readyAt: number | null;
  worker: string | null;
  outcome: AttemptRecord['outcome'] | 'running' | 'prefetched';
  /** When its process died, if that could say so. Absent otherwise. */
  diedAt?: number;
  error: StoredErrorView | null;
}

export interface StoredErrorView {
  name: string;
  message: string;
  stack?: string;
  cause?: StoredErrorView;
  errors?: StoredErrorView[];
}

/** The details of a job as shown. */
export interface JobView extends JobRow {
  payload: unknown;
  /** The stored text of a payload that is not JSON. */
  brokenPayload: string | null;
  /** Why the job cannot be shown; null if it can. */
  unshown: string | null;
  result: unknown;
  hasResult: boolean;
  /** The parts that are shown in part, because they are long. */
  cut: JobPart[];
  progressValue: unknown;
  log: { at: number; message: string }[];
  /** What it has streamed: the number of the last entry, and the end of the text. Null for nothing. */
  stream: { entries: number; text: string } | null;
  steps: { name: string; at: number; attempt: number }[];
  waits: { name: string; kind: 'signal' | 'sleep'; since: number; until: number | null; state: string }[];
  signals: { name: string; at: number }[];
  errors: number;
  crashes: number;
  interruptions: number;
  schedule: string | null;
  batch: { queue: string; id: string; role: 'member' | 'follow-up' } | null;
  /** The jobs in its `after`, and the jobs with it in theirs. A long list is cut. */
  after: JobReference[];
  followedBy: JobReference[];
  /** The dead letter as which new job it was enqueued, and the new job as which it was redriven. */
  redrivenFrom: JobReference[];
  redrivenAs: JobReference[];
  metadata: Record<string, string> | null;
  dueAt: number | null;
  claimedAt: number | null;
  endedAt: number | null;
  cancelRequestedAt: number | null;
  expiresAt: number | null;
  fence: number | null;
  attemptLog: AttemptView[];
  /** Why it does not run, in words; null for one that runs or has ended. */
  whyNotRunning: string | null;
  /** Where that is mended. Absent if the page has no such place, or the buttons of the job do it. */
  remedyAt?: Remedy;
  /** The reason why its payload cannot be edited here; null if it can. */
  editRefusal: string | null;
  actions: DashboardAction[];
}

/** The filter of jobs of one state; all fields must match. */
export interface JobMatch {
  text?: string;
  /** The key of a group of errors. */
  group?: string;
}

/** The request of a background run. */
export interface RunRequest {
  action: JobAction;
  state: State;
  match: JobMatch;
  user: string;
  /** The run ends after this many jobs; null for all. */
  most: number | null;
  /** The most jobs of a second; null for no limit. */
  perSecond: number | null;
}

/** A background run of one action over all jobs that match. It has no search: that is for its user alone. */
export interface RunView extends Omit<RunRequest, 'match'> {
  id: string;
  queue: string;
  status: 'running' | 'stopping' | 'done' | 'stopped' | 'failed' | 'interrupted';
  startedAt: number;
  updatedAt: number;
  searched: number;
  total: number;
  done: number;
  /** Matched, but changed before the action reached them. */
  spared: number;
  error: string | null;
  /** How the jobs of a redrive of a few ended. Absent for other runs, and until the first look. */
  ends?: RunEnds;
}

/** How redriven jobs ended so far. */
export interface RunEnds {
  completed: number;
  failed: number;
  /** The number of jobs that have not ended yet. */
  open: number;
  /** A failed one, and its error; null for none, or if its error may not be seen. */
  failedId: string | null;
  error: string | null;
}

/** A refusal or a failure. */
export interface ProblemView {
  error: {
    code: string;
    message: string;
    /** The path of the invalid value, with which the message begins. Absent for another problem. */
    subject?: string;
  };
}

/** The rows of the outbox that the viewer may see. */
export interface OutboxRowsView {
  /** The failed rows first, then the refused ones, then the others by age. */
  rows: (Omit<OutboxRecord, 'lastError'> & {
    /** The reason of the last refusal; null for none, or where the content of the queue is hidden. */
    error: string | null;
    /** False if the text of its queue is no name of a queue. Then only the command line can change the row. */
    canBeSteered: boolean;
  })[];
  /** True if there are more rows. */
  isCut: boolean;
}

/** The verdict on a queue, in words. */
export interface VerdictView {
  severity: Severity;
  /** The state of the queue in a word: stuck, failing, paused. Absent for Redis itself. */
  state?: string;
  /** The queue of the next step, or its shard. Absent for Redis itself. */
  queue?: string;
  /** How many more queues need a look, beside the one of the sentence. Absent for none. */
  more?: number;
  /** True if nothing waits or runs. */
  isIdle?: true;
  /** The verdict in one sentence: `email` is stuck: 1,204 waiting for 6 min, no worker handles it. */
  sentence: string;
  /** The next step. */
  remedy?: string;
  /** Where the next step is taken. Absent if there is none. */
  remedyAt?: Remedy;
}

/** A queue with its verdict. An unreadable queue has no more than that. */
export interface QueueVerdictView {
  name: string;
  verdict: VerdictView;
  /** True for a queue of this Redis that the app does not know. */
  isOther?: true;
  /** The names of its shards, the worst first. Absent for a queue without. */
  shards?: string[];
}

/** Figures of each step, for the charts. `at` has the starts of the steps. */
export interface HistoryView {
  at: number[];
  stepMs: number;
  in: (number | null)[];
  out: (number | null)[];
  failed: (number | null)[];
  depth: (number | null)[];
  oldestMs: (number | null)[];
  wait: { p50: (number | null)[]; p95: (number | null)[]; p99: (number | null)[] };
  run: { p50: (number | null)[]; p95: (number | null)[]; p99: (number | null)[] };
  marks: { at: number; endAt: number | null; kind: 'deploy' | 'outage'; text: string }[];
}

/** A batch, and how far it is. It names no other queue, because the viewer may not see that. */
export interface BatchView extends Omit<
  BatchRecord,
  'followUps' | 'createdAt' | 'sealedAt' | 'firedAt' | 'endedAt'
> {
  /** The state of the batch, in a sentence. */
  words: string;
  createdAt: number;
  sealedAt: number | null;
  firedAt: number | null;
  endedAt: number | null;
}

/** The batches of a queue. */
export interface BatchesView {
  /** The batches that have not ended, the oldest first. */
  batches: BatchView[];
  /** The batches that ended last, the last first. */
  ended: BatchView[];
}

/** A member of a batch, and what became of it. */
export interface BatchMemberView extends Pick<BatchMember, 'id' | 'queue' | 'status'> {
  error: string | null;
  /** The state of a job that has not ended; null for an ended one, or where it is unknown. */
  state: State | null;
  /** The name, the label and the time of its job, as in a list; null if its record is gone. */
  name: string | null;
  label: string | null;
  at: number | null;
}

/** A job that follows a batch. */
export interface FollowUpView extends BatchFollowUp {
  /** How far it is, in words. */
  words: string;
  /** Its job; null before it is in its queue, and once it is no longer known. */
  job: JobRow | null;
}

/** One batch with a page of its members. */
export interface BatchPageView {
  batch: BatchView;
  followUps: FollowUpView[];
  members: BatchMemberView[];
  /** The start of the next page; null on the last. */
  next: number | null;
}

/** A group of a queue that has jobs. */
export interface GroupView {
  name: string;
  pending: number;
  running: number;
  oldestPendingAgeMs: number;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must end it. */
  pausedUntil: number | null;
  pausedBy: string | null;
  pauseReason: string | null;
  /** The job that holds it back; null for none, or for one that the viewer may not see. */
  heldBy: string | null;
  isHeld: boolean;
  opensAt: number | null;
  /** True if it runs as many jobs as it may. */
  isFull: boolean;
  /** Its own limits in words; null for none. */
  limits: string | null;
  /** The same as figures. */
  limitsSet: GroupLimits;
  /** Who set them, and when; null if the action log does not have it any more. */
  limitedBy: string | null;
  limitedAt: number | null;
}

/** The groups of a queue that have jobs. */
export interface GroupsView {
  groups: GroupView[];
  /** The limits of each group without its own, in words; null for none. */
  ofAll: string | null;
}

/** A limit that queues share. The names of queues that the viewer may not see are left out. */
export interface SharedLimitView {
  name: string;
  /** The queues whose workers name it, by name. */
  queues: string[];
  maxRunning: number | null;
  rates: { limit: number; periodMs: number; burst?: number }[];
  /** True if its values were set at run time, so that they override those of the code. */
  isSet: boolean;
  /** The number of jobs that run, also those of hidden queues. */
  running: number;
  /** The jobs of each queue, the most first. */
  holders: { queue: string; permits: number; workers: number }[];
  /** The queues that wait for it, the first first. */
  waiting: string[];
  /** True if a queue uses it with a key. */
  hasKeys: boolean;
  /** How many of its keys jobs wait for, in words; empty for none. */
  waitingKeys: string;
  /** When its rates let the next job start; null: now. */
  nextStartAt: number | null;
  restsUntil: number | null;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must resume the limit. */
  pausedUntil: number | null;
  pausedBy: string | null;
  pauseReason: string | null;
}

/** One key of a limit. Values that were not set for it are those of the limit. A pause of the limit itself is left out. */
export interface SharedKeyView extends Omit<
  SharedLimitView,
  'queues' | 'holders' | 'waiting' | 'hasKeys' | 'waitingKeys'
> {
  /** The key: the group of the jobs. */
  name: string;
  /** True if jobs of a queue wait for it. */
  isAwaited: boolean;
}

/** The keys of a limit that were used in the last day, the last first. */
export interface SharedKeysView {
  keys: SharedKeyView[];
  /** The names of keys that could not be read, because their master gives no reply. */
  unread: string[];
  /** True if more keys may be shown to the viewer. */
  hasMore: boolean;
}

/** The end of a job whose record has gone. */
export type EndedJobView = Pick<JobRow, 'queue' | 'id' | 'name' | 'state'>;

/** The jobs with an id, in all queues that could be read. */
export interface FoundJobsView {
  jobs: JobRow[];
  /** The ends of jobs whose records have gone; empty if a job was found. */
  ended: EndedJobView[];
  unreadable: QueueVerdictView[];
}

/** One slice of a search over all queues and states. */
export interface EverywherePage extends Omit<SearchPage, 'total'> {
  /** The number of jobs of the searched queues and states; null after the first slice. */
  total: number | null;
  unreadable: QueueVerdictView[];
}

/** The latest entries of all queues that could be read, or of one. */
export interface LogView {
  entries: ActionLogEntry[];
  /** True if there may be earlier ones. */
  isCut: boolean;
  unreadable: QueueVerdictView[];
}

export interface ActionLogEntry {
  at: number;
  queue: string;
  via: ActionAuthor['via'];
  by: string;
  action: string;
  /** The subject of the action, in words. */
  subject: string;
  /** Its single object, for a link. */
  target: ActionTarget | null;
  /** A second object, such as the new job of a redrive. Null if the viewer may not see it. */
  other: ActionTarget | null;
  /** The number of changed jobs; null if the action has not ended, or its end is unknown. */
  count: number | null;
}

/** A subscription of a topic, as the page shows it. */
export interface SubscriptionView {
  topic: string;
  name: string;
  queue: string;
  /** When an app first declared it. */
  since: number;
  /** Whether a live worker has its handler; null if its queue could not be read. */
  isHandled: boolean | null;
  /** Whether the viewer may end it. */
  canBeRemoved: boolean;
}

/** The subscriptions that the viewer may see, by topic and name. */
export interface TopicsView {
  subscriptions: SubscriptionView[];
}
