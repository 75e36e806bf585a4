// A queue of a server in memory, read from its keys for tests and the simulation.
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import { keptIn } from '../../queue/runtime/collections.js';
import type { QueueKeys } from '../../queue/scripts/queue-keys.js';
import type { ClaimReply } from '../../queue/store/attempt-forms.js';
import type { ScriptCall } from '../../queue/transport/script-runner.js';
import { toBytes, toText } from '../lua/values.js';
import type { ScriptServer } from './script-server.js';

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
