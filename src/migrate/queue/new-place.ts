// The place that a queue goes to: what a mover adds there.
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { listOf, textOf, wholeNumberOf } from '../../queue/replies/check-reply.js';
import { JobQueueError } from '../../queue/errors/errors.js';
import type { Source } from '../bullmq/source.js';
import { Place } from './place.js';
import type { CopiedBatch, MoverRight, MoveTarget, MovingJob, PutReply } from './transit.js';

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
