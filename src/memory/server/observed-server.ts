// A server in memory that tells what becomes of the jobs, for tests and the simulation. Its queues are
// read from its keys.
import type { Durability } from '../../queue/model/job-options.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import { keptIn } from '../../queue/runtime/collections.js';
import type { QueueCalls } from '../../queue/scripts/all-calls.js';
import type { QueueKeys } from '../../queue/scripts/queue-keys.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import type { ClaimReply, ClaimRequest } from '../../queue/store/attempt-forms.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type { ScriptCall } from '../../queue/transport/script-runner.js';
import { toBytes, toText } from '../lua/values.js';
import { ScriptServer } from './script-server.js';
import { evaluate } from './texts.js';

/** Receives the changes of jobs, also of a queue that publishes no events. */
export interface QueueObserver {
  /** Called when a job was added. @param asked the options of its enqueue @param durability its own, if any */
  enqueued(queue: QueueView, id: string, asked: AskedOptions, durability?: Durability): void;
  /** Called when an attempt or a job ended, or a job was put back, as events say it. */
  changed(queue: QueueView, id: string, status: string): void;
}

/** A call with the jobs that it enqueues, as the process sent them. */
export type CallWithJobs = ScriptCall<unknown> & { readonly jobs?: readonly EncodedJob[] };

export class ObservedServer extends ScriptServer {
  private readonly views = new Map<string, QueueView>();
  /** The keys of the jobs that the step has made. */
  private readonly made: string[];
  /** The jobs of the call that runs. */
  private sent: readonly EncodedJob[] = [];

  /** @param clock the time in ms, which alone decides what is due or expired */
  constructor(
    clock: () => number,
    private readonly observer: QueueObserver,
    options: Omit<NonNullable<ConstructorParameters<typeof ScriptServer>[1]>, 'hashWritten'> = {},
  ) {
    const made: string[] = [];
    super(clock, { ...options, hashWritten: (key, fields) => void (isNewJob(fields) && made.push(key)) });
    this.made = made;
  }

  /** All queues that a store has opened here. */
  get queues(): QueueView[] {
    return [...this.views.values()];
  }

  /**
   * Notes a queue that a process has opened. Returns its calls, of which the server sees the enqueues and the claims.
   *
   * @param options those of the process, which those of the calls may differ from
   */
  watch(calls: QueueCalls, options: ResolvedQueueOptions): QueueCalls {
    const view = this.viewOf(calls, options);
    const { enqueue, claim } = calls;
    return Object.assign(calls, {
      options,
      enqueue: (...asked: Parameters<typeof enqueue>) => ({ ...enqueue(...asked), jobs: asked[0] }),
      claim: (request: ClaimRequest) => {
        view.lastClaim = () => claim({ ...request, ...NEXT, ...(request.announces && { announces: false }) });
        return claim(request);
      },
    });
  }

  /**
   * Returns what the next claim of the worker of a queue would get, or undefined before its first one. It changes nothing.
   *
   * @param scheduled whether it would also take jobs that are due, and say when the next one is
   */
  nextClaim({ lastClaim, keys }: QueueView, scheduled: boolean): ClaimReply | undefined {
    if (!lastClaim) return undefined;
    return this.trial(() => {
      if (!scheduled) this.keys.delete(toBytes(keys.scheduled));
      const call = lastClaim();
      return call.decode(evaluate(this, call, false));
    });
  }

  private viewOf({ keys }: QueueCalls, options: ResolvedQueueOptions): QueueView {
    const known = this.views.get(keys.jobPrefix);
    if (known) {
      known.options = options;
      return known;
    }
    const view = new QueueView(this, keys, options);
    this.views.set(keys.jobPrefix, view);
    this.subscribe(toBytes(keys.events), (message) => {
      const { id, status } = JSON.parse(toText(message)) as { id: string; status: string };
      this.observer.changed(view, id, status);
    });
    return view;
  }

  /** Runs a call of a process, whose jobs the observer gets as they were sent. */
  sending<Reply>({ jobs = [] }: CallWithJobs, run: () => Reply): Reply {
    this.sent = jobs;
    try {
      return run();
    } finally {
      this.sent = [];
    }
  }

  /** Tells of new jobs before their events. */
  protected override deliver(): void {
    for (const key of new Set(this.made.splice(0).map(toText))) this.tell(key);
    super.deliver();
  }

  private tell(key: string): void {
    const view = this.queues.find(({ keys }) => key.startsWith(keys.jobPrefix));
    const id = key.slice(view?.keys.jobPrefix.length);
    if (!view?.job(id)) return;
    const job = this.sent.find((each) => each.id === id);
    this.observer.enqueued(view, id, job?.options ?? {}, job?.durability);
  }
}

/** What the next claim asks for: one job, of any cost, by a token that the server does not know. */
const NEXT = { count: 1, slots: 1, token: '@next', units: undefined } as const;

/** Returns whether fields are written that only a new job gets. */
function isNewJob(fields: readonly string[]): boolean {
  return fields.includes('enqueued_at_ms') && fields.includes('payload');
}

/** The most keys of jobs that a view keeps. */
const MOST_KEYS = 10_000;

/** The fields of a hash, such as a job. */
export type Fields = Record<string, string>;

/** A sorted set of texts. */
class ScoredKey {
  private readonly bytes: string;

  constructor(
    private readonly server: ScriptServer,
    readonly key: string,
  ) {
    this.bytes = toBytes(key);
  }

  get size(): number {
    return this.set?.size ?? 0;
  }

  /** Returns the members by their scores. */
  members(): string[] {
    return this.set?.all().map(({ member }) => toText(member)) ?? [];
  }

  score(member: string): number | undefined {
    return this.set?.score(toBytes(member));
  }

  has(member: string): boolean {
    return this.score(member) !== undefined;
  }

  /** Changes a score as somebody else would, for a test. */
  put(member: string, score: number): void {
    this.server.send('ZADD', [this.bytes, String(score), toBytes(member)]);
  }

  remove(member: string): void {
    this.server.send('ZREM', [this.bytes, toBytes(member)]);
  }

  private get set() {
    return this.server.keys.read(this.bytes, 'zset');
  }
}

/** A queue as the scripts left it. Nothing is kept beside the keys. */
export class QueueView {
  readonly prioritized: ScoredKey;
  readonly scheduled: ScoredKey;
  readonly claims: ScoredKey;
  readonly dead: ScoredKey;
  readonly workers: ScoredKey;
  readonly names: ScoredKey;
  readonly scheduleDue: ScoredKey;
  readonly scheduleOwners: ScoredKey;
  readonly wake: ScoredKey;
  private readonly jobKeys = new Map<string, string>();
  /** Makes the next claim of the worker that claimed last; undefined before its first claim. */
  lastClaim: (() => ScriptCall<ClaimReply>) | undefined;

  constructor(
    readonly server: ScriptServer,
    readonly keys: QueueKeys,
    /** The options of the process that opened the queue last. */
    public options: ResolvedQueueOptions,
  ) {
    this.prioritized = this.scored(keys.prioritized);
    this.scheduled = this.scored(keys.scheduled);
    this.claims = this.scored(keys.claims);
    this.dead = this.scored(keys.dead);
    this.workers = this.scored(keys.workers);
    this.names = this.scored(keys.names);
    this.scheduleDue = this.scored(keys.scheduleDue);
    this.scheduleOwners = this.scored(keys.scheduleOwners);
    this.wake = this.scored(keys.wake);
  }

  get name(): string {
    return this.keys.queue;
  }

  /** The time of the server, in ms. */
  get now(): number {
    return this.server.now();
  }

  /** The jobs without a priority and a group, the next to be claimed first. */
  get pending(): string[] {
    return this.list(this.keys.pending).toReversed();
  }

  /** The names of the groups whose jobs wait. */
  get groups(): string[] {
    return this.scored(`${this.keys.groupsPrefix}depths`).members();
  }

  /** Returns the waiting jobs of a group, in its order. */
  waitingIn(group: string): string[] {
    return this.scored(`${this.keys.groupsPrefix}waiting:${group}`).members();
  }

  /** All jobs that wait to be claimed, those of each group after the others. */
  get line(): string[] {
    return [
      ...this.prioritized.members(),
      ...this.pending,
      ...this.groups.flatMap((group) => this.waitingIn(group)),
    ];
  }

  get settings(): Fields {
    return this.hash(this.keys.settings) ?? {};
  }

  get totals(): Fields {
    return this.hash(this.keys.stats) ?? {};
  }

  /** Whether the queue has a batch, a member of one, or a job that waits for others. */
  get hasBatches(): boolean {
    const { batches, remoteMembers, batchOutbox, awaiting } = this.keys;
    return [batches, remoteMembers, batchOutbox, awaiting].some((key) => this.server.keys.entry(toBytes(key)));
  }

  /** Returns the hash of a job; undefined if it has none. */
  job(id: string): Fields | undefined {
    return this.hash(this.keys.job(id));
  }

  jobField(id: string, field: string): string | undefined {
    // A key is made once, because a text that is looked up often is hashed once then.
    const key = keptIn(this.jobKeys, id, () => toBytes(this.keys.job(id)), MOST_KEYS);
    const value = this.server.keys.read(key, 'hash')?.get(field);
    return value === undefined ? undefined : toText(value);
  }

  /** Returns the ids of all jobs. The cost grows with the number of keys of the server. */
  jobIds(): string[] {
    const { jobPrefix } = this.keys;
    const texts = this.server.keys.keys().map(toText);
    return texts.filter((key) => key.startsWith(jobPrefix)).map((key) => key.slice(jobPrefix.length));
  }

  hash(key: string): Fields | undefined {
    const hash = this.server.keys.read(toBytes(key), 'hash');
    if (!hash) return undefined;
    return Object.fromEntries(hash.keys().map((field) => [toText(field), toText(hash.get(field)!)]));
  }

  /** Returns one field of a hash, such as that of a job. */
  field(key: string, field: string): string | undefined {
    const value = this.server.keys.read(toBytes(key), 'hash')?.get(toBytes(field));
    return value === undefined ? undefined : toText(value);
  }

  /** Writes fields as somebody else would, for a test. */
  write(key: string, fields: Readonly<Fields>): void {
    this.server.send('HSET', [key, ...Object.entries(fields).flat()].map(toBytes));
  }

  list(key: string): string[] {
    return this.server.keys.read(toBytes(key), 'list')?.all().map(toText) ?? [];
  }

  scored(key: string): ScoredKey {
    return new ScoredKey(this.server, key);
  }
}
