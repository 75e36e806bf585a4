import type { Clock } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { OutboxEntry } from '../dialects/dialect.js';
import type { OutboxTable } from '../outbox-table.js';
import type { ShippingQueue } from './ship.js';

/** The time between two looks for marks without a row, in ms. */
const TIDY_MS = 3_600_000;
const MOST_MARKS = 500;

/** Lets Redis forget the marks of rows that are deleted. */
export class SentMarks {
  private readonly tidiedAtMs = new WeakMap<ShippingQueue, number>();
  /** The queues whose marks could not be forgotten at the last try. */
  private readonly failing = new WeakSet<ShippingQueue>();

  constructor(
    private readonly parts: { table: Pick<OutboxTable, 'turn' | 'present'>; clock: Clock; logger: JobQueueLogger },
  ) {}

  /** Forgets the marks of deleted rows. Once in a while it also forgets marks of a relay that died. */
  async forget(source: string, queue: ShippingQueue, rows: readonly OutboxEntry[]): Promise<void> {
    const keys = rows.map(({ entry }) => entry);
    try {
      if (keys.length > 0) {
        await queue.exec((calls) => calls.once.forget({ source, keys }));
      }
      if (this.isTidyTime(queue)) {
        await this.forgetLeftMarks(source, queue);
      }
      this.failing.delete(queue);
    } catch (error) {
      this.noteFailure(queue, error as Error);
    }
  }

  /** Logs the first failure of several. The marks stay until the next look, and no job is added twice. */
  private noteFailure(queue: ShippingQueue, { message }: Error): void {
    if (!this.failing.has(queue)) {
      this.failing.add(queue);
      this.parts.logger.warn(
        `Could not forget the marks of sent rows in queue "${queue.name}": ${message}. They cost memory only, and ` +
          'the outbox tries again within an hour.',
      );
    }
  }

  private isTidyTime(queue: ShippingQueue): boolean {
    const now = this.parts.clock.monotonic();
    const isDue = now - (this.tidiedAtMs.get(queue) ?? -Infinity) >= TIDY_MS;
    if (isDue) {
      this.tidiedAtMs.set(queue, now);
    }
    return isDue;
  }

  /** Forgets marks without a row. Only with the right to ship, so that no row is about to be deleted. */
  private async forgetLeftMarks(source: string, queue: ShippingQueue): Promise<void> {
    const marks = await queue.exec((calls) => calls.once.marks({ source, limit: MOST_MARKS }));
    if (marks.length > 0) {
      const present = await this.parts.table.turn((turn) => this.parts.table.present(turn, marks));
      const gone = present ? marks.filter((key) => !present.has(key)) : [];
      await (gone.length > 0 && queue.exec((calls) => calls.once.forget({ source, keys: gone })));
    }
  }
}
