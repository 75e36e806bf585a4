import { JobQueueError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { type RedisAccess, redisWithAllKeys } from '../../queue/redis-access.js';
import { listOf, textOf, wholeNumberOf } from '../../queue/replies/check-reply.js';
import { randomId } from '../../queue/runtime/clock.js';
import type { QueueKeys } from '../../queue/scripts/queue-keys.js';
import { call } from '../../queue/scripts/script-call.js';
import type { ScriptName } from '../../queue/transport/script-runner.js';
import type { Source } from '../bullmq-source.js';
import {
  MoverOvertakenError,
  type LinePlace,
  type MoverRight,
  type MovingJob,
  type TakeReply,
  type CopiedBatch,
  type MoveTarget,
  type PutReply,
} from './transit.js';

// What the two places of a move have in common: the keys of a queue, and the scripts of moves.

/** The connection of a place, with all keys of the queue. */
type PlaceAccess = RedisAccess & { keys: QueueKeys };

/** One place of a move. */
abstract class Place {
  constructor(
    readonly queue: JobQueue,
    private readonly access: PlaceAccess,
  ) {}

  get keys(): QueueKeys {
    return this.access.keys;
  }

  get client(): RedisAccess['client'] {
    return this.access.client;
  }

  /** Returns a key of the move. */
  moving(part: string): string {
    return `${this.keys.base}moving:${part}`;
  }

  protected run<Reply>(
    script: ScriptName,
    args: readonly (string | number)[],
    decode: (reply: unknown) => Reply,
  ): Promise<Reply> {
    return this.queue.exec(() => call(script, this.keys.standard, args, decode));
  }

  /** Returns a reply to this mover. @throws MoverOvertakenError */
  protected mine<Reply>(reply: Reply): Reply {
    if (reply === -1 || reply === 'stale' || (Array.isArray(reply) && reply[0] === 'stale')) {
      throw new MoverOvertakenError(this.queue.name);
    }
    return reply;
  }
}

// The place that a queue leaves: what a mover reads and changes there.

/** The jobs of one step, which must not block the server. */
export const STEP = 200;

export class OldPlace extends Place {
  private right: MoverRight | undefined;

  private constructor(
    queue: JobQueue,
    access: PlaceAccess,
    /** The new place in words. */
    private readonly to: string,
  ) {
    super(queue, access);
  }

  static async of(queue: JobQueue, to: string): Promise<OldPlace> {
    return new OldPlace(queue, await redisWithAllKeys(queue), to);
  }

  /** Becomes the mover, and pauses the queue. Returns the right to move, and whether the queue was paused before. */
  async begin(by: string): Promise<{ right: MoverRight; wasPaused: boolean }> {
    const reply = await this.run('migrateQueueBegin', [`move-${randomId()}`, this.to, by], listOf);
    this.right = { source: textOf(reply[0]), fence: wholeNumberOf(reply[1]) };
    return { right: this.right, wasPaused: wholeNumberOf(reply[2]) === 1 };
  }

  async runningCount(): Promise<number> {
    const { claims, processing } = this.keys;
    const [own, foreign] = await Promise.all([this.client.zcard(claims), this.client.llen(processing)]);
    return own + foreign;
  }

  /** Returns the number of jobs in each place, and in transit. */
  async counts(): Promise<Record<string, number>> {
    const { client, keys } = this;
    const [pending, prioritized, scheduled, dead, transit, waiting, running] = await Promise.all([
      client.llen(keys.pending),
      client.zcard(keys.prioritized),
      client.zcard(keys.scheduled),
      client.zcard(keys.dead),
      client.zcard(this.moving('order')),
      client.hget(`${keys.groupsPrefix}settings`, 'waiting'),
      this.runningCount(),
    ]);
    const grouped = Number(waiting ?? 0);
    return { pending, prioritized, group: grouped, scheduled, running, dead, transit };
  }

  async hasMaxRunning(): Promise<boolean> {
    return (await this.client.hexists(this.keys.settings, 'max_running')) === 1;
  }

  /** Returns the names of groups with waiting jobs. */
  async groups(): Promise<string[]> {
    return this.client.zrange(`${this.keys.groupsPrefix}depths`, '0', '-1');
  }

  /** Returns ids of a place, in the order in which they would run. */
  async ids(place: LinePlace, offset: number, limit: number, group = ''): Promise<string[]> {
    const { keys } = this;
    if (place === 'pending') {
      const found = await this.client.lrange(keys.pending, String(-(offset + limit)), String(-(offset + 1)));
      return found.toReversed();
    }
    const key = place === 'group' ? `${keys.groupsPrefix}waiting:${group}` : keys[place];
    return this.client.zrange(key, String(offset), String(offset + limit - 1));
  }

  /** Takes jobs of a place. @throws MoverOvertakenError */
  async take(place: LinePlace, ids: readonly string[]): Promise<TakeReply[]> {
    const args = [this.fence, place, this.to, ...ids];
    const reply = await this.run('migrateQueueTake', args, (found) => found);
    return listOf(this.mine(reply)).map((each) => textOf(each) as TakeReply);
  }

  /** Returns the first jobs in transit. */
  async inTransit(): Promise<MovingJob[]> {
    const ids = await this.client.zrange(this.moving('order'), '0', String(STEP - 1));
    if (ids.length === 0) {
      return [];
    }
    const entries = await this.client.hmget(this.moving('entries'), ...ids);
    return Promise.all(
      ids.map(async (id, i) => {
        const key = this.moving(`job:${id}`);
        const fields = fieldsOf(await this.client.hgetall(key));
        return { id, entry: entries[i] ?? '', fields, isText: await this.isText(key, fields) };
      }),
    );
  }

  /** Returns whether texts say all of a hash. A part that is not UTF-8 has the sign for that in its text. */
  private async isText(key: string, fields: readonly string[]): Promise<boolean> {
    if (!fields.some((each) => each.includes('\uFFFD'))) {
      return true;
    }
    const bytes = Object.values(await this.client.hgetallBuffer(key));
    return bytes.every((each) => each.equals(Buffer.from(each.toString())));
  }

  giveBack(jobs: readonly MovingJob[]): Promise<void> {
    return this.end('migrateQueueGiveBack', jobs);
  }

  acknowledge(jobs: readonly MovingJob[]): Promise<void> {
    return this.end('migrateQueueAcknowledge', jobs);
  }

  /** Ends the transit of jobs. */
  private async end(script: 'migrateQueueGiveBack' | 'migrateQueueAcknowledge', jobs: readonly MovingJob[]) {
    if (jobs.length > 0) {
      const args = [this.fence, ...jobs.flatMap(({ id, entry }) => [id, entry])];
      this.mine(await this.run(script, args, wholeNumberOf));
    }
  }

  async takeSchedule(id: string): Promise<boolean> {
    const reply = await this.run('migrateQueueTakeSchedule', [this.fence, id], textOf);
    return this.mine(reply) === 'taken';
  }

  async takeBatch(id: string): Promise<string> {
    return this.mine(await this.run('migrateQueueTakeBatch', [this.fence, id], textOf));
  }

  /** Ends what was kept of a schedule or a batch. */
  async settle(kind: 'schedule' | 'batch' | 'batch-back' | 'watched', id: string): Promise<void> {
    this.mine(await this.run('migrateQueueSettle', [kind, id, this.fence], wholeNumberOf));
  }

  /** Returns which of some jobs are still here: waiting, dead or in transit. */
  async still(ids: readonly string[]): Promise<string[]> {
    const found = await Promise.all(
      ids.map(async (id) => {
        const [[status, moved], transit] = await Promise.all([
          this.client.hmget(this.keys.job(id), 'status', 'moved'),
          this.client.exists(this.moving(`job:${id}`)),
        ]);
        const isHere = status !== null && moved === null && status !== 'completed' && status !== 'cancelled';
        return isHere || transit === 1 ? id : undefined;
      }),
    );
    return found.filter((id) => id !== undefined);
  }

  private get fence(): number {
    return this.right!.fence;
  }
}

/** Returns the fields and values of a hash, one after another. */
export function fieldsOf(hash: Record<string, string>): string[] {
  return Object.entries(hash).flat();
}

/** Returns the hash of such fields and values. */
export function hashOf(fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : [])));
}

// The place that a queue goes to: what a mover adds there.

/** The kinds of settings that are copied. */
type SettingKind = 'announced' | 'queue' | 'groups' | 'group' | 'ended' | 'unique';

/** The beginning of a new place in words, if that is a queue of BullMQ. */
export const BULLMQ = 'BullMQ at ';

/** An ended job as it is copied. */
export interface EndedJob {
  id: string;
  /** The rest of its lifetime in ms; undefined if its record is kept until others have read it. */
  leftMs: number | undefined;
  fields: string[];
}

/** The queue at the new place is in the middle of a move to elsewhere. */
class UnfinishedMoveError extends JobQueueError {
  static override readonly code: string = 'UNFINISHED_MOVE';

  constructor(queue: string, to: string) {
    super(
      `The queue "${queue}" at the new place has jobs in transit to ${to}. Run that move again until it ends, then this one.`,
    );
  }
}

export class NewPlace extends Place implements MoveTarget {
  static async of(queue: JobQueue): Promise<NewPlace> {
    return new NewPlace(queue, await redisWithAllKeys(queue));
  }

  /** Refuses a place with jobs in transit to elsewhere. @throws UnfinishedMoveError */
  async check(): Promise<void> {
    const inTransit = ['order', 'schedules', 'batches'].map((part) => this.moving(part));
    if ((await this.client.exists(...inTransit)) > 0) {
      throw new UnfinishedMoveError(
        this.queue.name,
        (await this.client.hget(this.moving('state'), 'to')) ?? 'elsewhere',
      );
    }
  }

  /** Ends the pause of an earlier move from here, because the queue comes back. */
  async takeBack(): Promise<void> {
    const wasPaused = await this.client.hget(this.moving('state'), 'was_paused');
    if (wasPaused !== null) {
      if (wasPaused === '0') {
        await this.queue.resume();
      }
      await this.client.del(this.moving('watch'));
      await this.client.del(this.moving('state'));
    }
  }

  /**
   * Ends the pause if the queue went to this queue of BullMQ. The schedules that went there make way; one that code declares
   * stays paused.
   *
   * @throws UnfinishedMoveError
   */
  async takeBackFromBullmq(there: Pick<Source, 'received'>): Promise<void> {
    const [to, move] = await this.client.hmget(this.moving('state'), 'to', 'source');
    if (!to?.startsWith(BULLMQ) || !move || !(await there.received(move))) {
      return;
    }
    await this.check();
    for (const id of await this.client.zrange(this.keys.scheduleDue, '0', '-1')) {
      const [hasMoved, source] = await this.client.hmget(this.keys.schedule(id), 'moved', 'source');
      if (hasMoved !== null && source !== 'code') {
        await this.queue.schedules.remove(id);
      }
    }
    await this.takeBack();
  }

  /** Adds jobs in transit. @throws MoverOvertakenError */
  async put({ source, fence }: MoverRight, jobs: readonly MovingJob[]): Promise<PutReply[]> {
    const each = jobs.flatMap(({ id, entry, fields }) => [entry, id, fields.length, ...fields]);
    const args = [source, fence, this.queue.options.deadLetterCap, ...each];
    const reply = await this.run('migrateQueuePut', args, listOf);
    return this.mine(reply).map((one) => textOf(one) as PutReply);
  }

  /** Returns how many were new here. */
  async putEnded(place: 'completed' | 'cancelled' | 'kept', jobs: readonly EndedJob[]): Promise<number> {
    const each = jobs.flatMap(({ id, leftMs, fields }) => [id, leftMs ?? '', fields.length, ...fields]);
    return jobs.length === 0 ? 0 : this.run('migrateQueuePutEnded', [place, ...each], wholeNumberOf);
  }

  /** Writes settings where none are. Returns whether it wrote something. */
  async putSettings(
    kind: SettingKind,
    pairs: readonly string[],
    { name = '', until = '' }: { name?: string; until?: string } = {},
  ): Promise<boolean> {
    const args = [kind, name, until, ...pairs];
    return pairs.length > 0 && (await this.run('migrateQueuePutSettings', args, wholeNumberOf)) === 1;
  }

  /** Returns false if a schedule with its id is here already, which stays. */
  async putSchedule(
    { source, fence }: MoverRight,
    id: string,
    { due, fields }: { due: string; fields: readonly string[] },
  ): Promise<boolean> {
    const args = [source, fence, id, due, ...fields];
    return this.mine(await this.run('migrateQueuePutSchedule', args, (reply) => reply)) === 'created';
  }

  marks(source: string, limit: number): Promise<string[]> {
    return this.queue.exec((calls) => calls.once.marks({ source, limit }));
  }

  async forget(source: string, keys: readonly string[]): Promise<void> {
    await this.queue.exec((calls) => calls.once.forget({ source, keys }));
  }

  /** Returns the key under which a mover copies a part of a batch. */
  copyKey({ fence }: MoverRight, id: string, part: string): string {
    return this.moving(`batch:${fence}:${id}${part}`);
  }

  async putBatch(
    { source, fence }: MoverRight,
    { id, key, createdAt, lengths }: CopiedBatch,
  ): Promise<'new' | 'known' | 'existing' | 'lost'> {
    const args = [source, fence, id, key, createdAt, ...lengths];
    const reply = await this.run('migrateQueuePutBatch', args, (found) => found);
    return textOf(this.mine(reply)) as 'new' | 'known' | 'existing' | 'lost';
  }

  /** Lets maintenance check a batch, or a job that waits for others. */
  async watch(kind: 'watch-batch' | 'watch-job', id: string): Promise<void> {
    await this.run('migrateQueueSettle', [kind, id, ''], wholeNumberOf);
  }
}
