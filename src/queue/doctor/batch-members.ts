import type { Fault } from '../verbs/doctor.js';
import { refTo, splitRef } from '../store/job-ref.js';
import type { QueueCalls } from '../scripts/all-calls.js';
import type { AuditedRedis } from './audited-redis.js';

/** The number of members that one step reads. */
const SLICE = 100;

/** Finds members for which a batch waits although they are gone or have ended, in any queue. */
export class BatchMembers {
  constructor(
    private readonly queue: AuditedRedis,
    private readonly calls: QueueCalls,
    private readonly repairs: boolean,
  ) {}

  /** Returns the faults of one batch. A repair lets the next run of maintenance look at the batch. */
  async faultsOf(batch: string): Promise<Fault[]> {
    const record = await this.queue.run(this.calls.batches.status({ id: batch }));
    const faults = record && !record.firedAt ? await this.lostOf(batch) : [];
    if (faults.length > 0 && this.repairs) {
      await this.queue.ask(() => this.queue.client.zadd(this.calls.keys.batches, 'XX', 0, batch));
    }
    return faults;
  }

  private async lostOf(batch: string): Promise<Fault[]> {
    const faults: Fault[] = [];
    let cursor = '0';
    do {
      const [next, pairs] = await this.queue.ask(() =>
        this.queue.client.zscan(this.openKey(batch), cursor, 'COUNT', SLICE),
      );
      const members = pairs.filter((_, i) => i % 2 === 0);
      for (const name of new Set(members.map((member) => this.placeOf(member).queue))) {
        const there = members.filter((member) => this.placeOf(member).queue === name);
        faults.push(...(await this.lostIn(name, batch, there)));
      }
      cursor = next;
    } while (cursor !== '0');
    return faults;
  }

  /** Asks the queue of some members. An end that is on its way has a number. */
  private async lostIn(name: string, batch: string, members: readonly string[]): Promise<Fault[]> {
    const { queue: home } = this.calls.keys;
    const calls = name === home ? this.calls : await this.queue.open(name);
    const asked = members.map((member) => ({ batch, id: this.placeOf(member).id }));
    const ends = (await this.queue.run(calls.batches.ends({ home, members: asked }))).filter(
      ({ number }) => number === '0',
    );
    const faults: Fault[] = [];
    for (const { id, state } of ends) {
      const member = name === home ? id : refTo(name, id);
      const open = await this.queue.ask(() => this.queue.client.zscore(this.openKey(batch), member));
      if (open !== null) {
        const found = `it waits for job ${id} of queue ${name}, which ${state === 'removed' ? 'is gone' : `is ${state}`}`;
        faults.push({ subject: batch, kind: 'batch', found, expected: 'members that wait or run' });
      }
    }
    return faults;
  }

  private placeOf(member: string): { queue: string; id: string } {
    return splitRef(this.calls.keys.queue, member);
  }

  private openKey(batch: string): string {
    return this.calls.keys.batchRecord(batch, 'open');
  }
}
