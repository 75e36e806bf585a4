// The place that a queue leaves: what a mover reads and changes there.
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { listOf, textOf, wholeNumberOf } from '../../queue/replies/check-reply.js';
import { randomId } from '../../queue/runtime/clock.js';
import { Place, type PlaceAccess } from './place.js';
import type { LinePlace, MoverRight, MovingJob, TakeReply } from './transit.js';

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
