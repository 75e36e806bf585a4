// Senders of the rows of a table, which become jobs. One sends at a time, by a lock of the database. It dies, stalls, or
// loses its session and comes back after another took over.
import { sealJson } from '#queue/codec/sealed.js';
import type { OnceEntry } from '#queue/verbs/once.js';
import type { World } from '../world.js';
import { SimulatedProcess } from './process.js';

const SOURCE = 'table';
const ATTEMPTS = 3;
const MOST_ROWS = 4;

/** The table, as a database keeps it: its committed rows, its sequence, and the session that holds the lock. */
export class Table {
  readonly rows = new Map<string, OnceEntry>();
  private session = 0;
  private sequence = 0;
  private isLocked = false;

  /** Returns a session with the lock and a fence, unless another has it. */
  begin(): { session: number; fence: number } | undefined {
    if (this.isLocked) {
      return undefined;
    }
    this.isLocked = true;
    return { session: ++this.session, fence: ++this.sequence };
  }

  /** Ends a session, as a commit or a cut connection does. Returns whether it still had the lock. */
  end(session: number): boolean {
    const holds = this.isLocked && this.session === session;
    this.isLocked &&= !holds;
    return holds;
  }
}

export class SimulatedSender extends SimulatedProcess {
  private count = 0;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly table: Table,
  ) {
    super(name, world, skewMs);
  }

  protected override async work(): Promise<void> {
    const { random } = this.world;
    while (!this.world.isEnding || this.table.rows.size > 0) {
      if (!this.world.isEnding) {
        this.write();
      }
      await this.send();
      await this.sleep(random.between(1, 250));
    }
  }

  /** Commits a row. Its job may be removed at once, so that its id is forgotten. */
  private write(): void {
    const { history } = this.world;
    const id = `${this.name}-${this.count++}`;
    history.sent(id, 'mixed', ATTEMPTS, { hasOwnLimit: true, removed: true });
    history.once.row(id);
    const options = { maxAttempts: ATTEMPTS };
    const payload = sealJson({}, JSON.stringify(history.runs.nextNumber()), { queue: 'mixed', id });
    this.table.rows.set(id, { key: id, job: { id, name: 'mixed', payload, options } });
  }

  private async send(): Promise<void> {
    const { table } = this;
    const { random } = this.world;
    const held = table.begin();
    if (!held) {
      return;
    }
    const entries = [...table.rows.values()].slice(0, MOST_ROWS);
    await this.mayStall(held.session);
    const reply = await this.untilAnswered(() =>
      this.queues.mixed.exec((calls) =>
        calls.once.enqueue({ sender: { source: SOURCE, fence: held.fence }, entries }),
      ),
    );
    const isStale = 'newerFence' in reply;
    if (!isStale && random.chance(0.5)) {
      await Promise.all(entries.map(({ key }) => this.remove(key)));
    }
    await this.mayStall(held.session);
    if (!table.end(held.session) || isStale) {
      return; // its transaction is rolled back, and the rows stay
    }
    await this.commit(entries);
  }

  /** Deletes the rows, and forgets their marks. */
  private async commit(entries: readonly OnceEntry[]): Promise<void> {
    const { rows } = this.table;
    entries.forEach(({ key }) => {
      rows.delete(key);
      this.world.history.once.sent(key);
      this.world.history.acknowledged(key);
    });
    const { mixed } = this.queues;
    const marks = await this.untilAnswered(() =>
      mixed.exec((calls) => calls.once.marks({ source: SOURCE, limit: 100 })),
    );
    const gone = marks.filter((key) => !rows.has(key));
    if (gone.length > 0) {
      await this.untilAnswered(() => mixed.exec((calls) => calls.once.forget({ source: SOURCE, keys: gone })));
    }
  }

  private async remove(id: string): Promise<void> {
    await this.untilAnswered(() => this.queues.mixed.remove(id));
  }

  /** Dies or stalls. In both cases the database ends its session, soon or late. */
  private async mayStall(session: number): Promise<void> {
    const { random } = this.world;
    if (!this.world.isEnding && random.chance(0.15)) {
      this.world.clock.setTimeout(() => this.table.end(session), random.between(1, 400));
      await this.sleep(random.between(1, 2_500));
    }
  }
}
