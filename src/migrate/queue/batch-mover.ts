import type { ChainableCommander } from 'ioredis';
import { tally, type LeftCounter, type MoveReport } from '../move-report.js';
import type { NewPlace } from './new-place.js';
import { fieldsOf, STEP, type OldPlace } from './old-place.js';
import { type CopiedBatch, CopyEvictedError, type MoverRight, type QueueMoveStep } from './transit.js';

interface Parts {
  old: OldPlace;
  target: NewPlace;
  report: Pick<MoveReport, 'moved'>;
  left: Pick<LeftCounter, 'add'>;
  onStep?: ((step: QueueMoveStep) => void) | undefined;
}

/** The lifetime of a copy that no mover finishes, in ms. */
const COPY_MS = 3_600_000;
/** The number of copies of a batch that the new place may lose. */
const MOST_COPIES = 3;
const WHY_OPEN = 'the batch is not sealed';

/** Moves the records of batches, whose members follow. See docs/internals/moving.md. */
export class BatchMover {
  constructor(private readonly parts: Parts) {}

  async move(right: MoverRight): Promise<void> {
    const { old, onStep, left } = this.parts;
    await this.finishTransit(right);
    for (const id of await old.client.zrange(`${old.keys.batches}_by_age`, '0', '-1')) {
      const reply = await old.takeBatch(id);
      onStep?.('take-batch');
      if (reply === 'open') {
        left.add('batch', WHY_OPEN, id);
      } else if (reply === 'elsewhere') {
        left.add('batch', 'another queue has a part of the batch', id);
      } else if (reply === 'taken') {
        await this.finishTransit(right);
      }
    }
  }

  /** Copies the batches in transit. A mover that died left some. */
  async finishTransit(right: MoverRight): Promise<void> {
    const { old, target, onStep, report, left } = this.parts;
    for (const [id, key] of Object.entries(await old.client.hgetall(old.moving('batches')))) {
      const reply = await this.put(right, id, key);
      onStep?.('put-batch');
      if (reply === 'existing') {
        left.add('batch', 'a batch with its id is at the new place already', id);
      } else if (reply === 'new') {
        tally(report.moved, 'batches');
      }
      await old.settle(reply === 'existing' ? 'batch-back' : 'batch', id);
      if (reply !== 'existing') {
        await target.forget(right.source, [key]);
      }
    }
  }

  /** Copies a batch until its whole copy is the record there. @throws CopyEvictedError */
  private async put(right: MoverRight, id: string, key: string): Promise<'new' | 'known' | 'existing'> {
    const { target, onStep } = this.parts;
    for (let copies = 0; copies < MOST_COPIES; copies++) {
      const copied = await this.copy(right, id);
      onStep?.('copy-batch');
      const reply = await target.putBatch(right, { id, key, ...copied });
      if (reply !== 'lost') {
        return reply;
      }
    }
    throw new CopyEvictedError(target.queue.name, id);
  }

  /**
   * Lets the new place check the batches, and the jobs that wait for others, of which nothing is left here.
   *
   * @param copyEnded copies the jobs that have ended here. Without their records the check would take them for deleted
   */
  async openWatched(copyEnded: () => Promise<void>): Promise<void> {
    const { old, target } = this.parts;
    const ready: string[] = [];
    for (const watched of await old.client.hkeys(old.moving('watch'))) {
      const id = watched.slice(1);
      const others = watched.startsWith('b') ? await this.openMembers(id) : await this.waitedFor(id);
      if (others !== undefined && (await old.still(others)).length === 0) {
        ready.push(watched);
      }
    }
    if (ready.length > 0) {
      await copyEnded();
    }
    for (const watched of ready) {
      await target.watch(watched.startsWith('b') ? 'watch-batch' : 'watch-job', watched.slice(1));
      await old.settle('watched', watched);
    }
  }

  private openMembers(id: string): Promise<string[]> {
    const { client, keys } = this.parts.target;
    return client.zrange(`${keys.batchRecordPrefix}${id}/open`, '0', '-1');
  }

  /** Returns the jobs that a job waits for; undefined while it is in transit itself. */
  private async waitedFor(id: string): Promise<string[] | undefined> {
    const { old, target } = this.parts;
    if ((await old.still([id])).length > 0) {
      return undefined;
    }
    const after = await target.client.hget(target.keys.job(id), 'after');
    return after === null || after === '' ? [] : after.split('\n');
  }

  /** Copies the parts of a batch into keys of this mover. Returns their lengths, and when the batch was created. */
  private async copy(right: MoverRight, id: string): Promise<Pick<CopiedBatch, 'createdAt' | 'lengths'>> {
    const { old, target } = this.parts;
    const from = (part: string) => old.moving(`batch:${id}${part}`);
    const to = (part: string) => target.copyKey(right, id, part);
    const parts = ['', '/open', '/members', '/outcomes'];
    for (const part of parts) {
      await target.client.del(to(part));
    }
    const record = await old.client.hgetall(from(''));
    const fields = fieldsOf(record);
    await this.write(to(''), fields, 2, (writes, slice) => writes.hset(to(''), ...slice));
    const open = await old.client.zrange(from('/open'), '0', '-1', 'WITHSCORES');
    const scored = open.map((_, i) => open[i ^ 1]!); // ZADD takes the score first
    await this.write(to('/open'), scored, 2, (writes, slice) => writes.zadd(to('/open'), ...slice));
    const members = await old.client.lrange(from('/members'), '0', '-1');
    await this.write(to('/members'), members, 1, (writes, slice) => writes.rpush(to('/members'), ...slice));
    const outcomes = fieldsOf(await old.client.hgetall(from('/outcomes')));
    await this.write(to('/outcomes'), outcomes, 2, (writes, slice) => writes.hset(to('/outcomes'), ...slice));
    const lengths = [fields.length / 2, open.length / 2, members.length, outcomes.length / 2];
    return { createdAt: record['created_at_ms'] ?? '0', lengths };
  }

  /** Writes values by steps, each together with the lifetime: a mover that dies leaves no key without one. */
  private async write(
    key: string,
    values: readonly string[],
    size: number,
    add: (writes: ChainableCommander, slice: string[]) => ChainableCommander,
  ): Promise<void> {
    for (let i = 0; i < values.length; i += size * STEP) {
      const writes = add(this.parts.target.client.multi(), values.slice(i, i + size * STEP));
      const replies = await writes.pexpire(key, COPY_MS).exec();
      const error = replies?.find(([failure]) => failure)?.[0];
      if (error) throw error;
    }
  }
}
