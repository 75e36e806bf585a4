import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { groupBy } from '../../queue/runtime/group-by.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { OutboxEntry, Turn } from '../dialects/dialect.js';
import type { OutboxTable } from '../outbox-table.js';
import { SentMarks } from './sent-marks.js';
import { ship, type Refused, type Shipped, type ShippingQueue } from './ship.js';

/** The rows of one turn at most. */
const MOST_ROWS = 1_000;
/** The times after an enqueue at which its transaction may have committed, in ms. */
const HINTS_MS = [5, 20, 80, 320];
/** The time for which the rows of a queue with a trouble are left, in ms. Others do not wait behind them. */
const REST_MS = 3_000;
const MOST_ATTEMPTS = 20;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
/** The time between two looks for old notes of done work, in ms. */
const TIDY_MS = 3_600_000;

/** The parts of a relay. */
export interface RelayParts {
  table: OutboxTable;
  /** Returns a queue; undefined for a connection that this app does not have. */
  queueOf(connection: string, queue: string): ShippingQueue | undefined;
  clock: Clock;
  logger: JobQueueLogger;
  /** The time between two looks for rows, in ms. */
  pollMs: number;
  /** The time for which notes of done work are kept, in ms. */
  keepDoneMs: number;
}

interface ShippedQueue {
  name: string;
  queue: ShippingQueue | undefined;
  outcome: Shipped;
}

/** Moves committed rows to their queues. Each process may run one; the database lets one at a time ship. */
export class Relay implements BackgroundRole {
  /** The error of the last turn or of a queue; undefined if all is well. */
  trouble: Error | undefined;
  /** The number of rows that were moved, by queue. */
  readonly relayed = new Map<string, number>();
  private stopped = false;
  private running: Promise<void> | undefined;
  private again = false;
  private poll: Timer | undefined;
  /** The looks after enqueues by their time, in ms. Enqueues of the same ms share them. */
  private readonly hints = new Map<number, Timer>();
  /** The last shipped number, if no row before it waits. */
  private lastShipped = '0';
  /** The same at the last look at all rows, and at the one before: transactions may still commit smaller numbers. */
  private nextHint = '0';
  private hint = '0';
  private fullLookAtMs = -Infinity;
  /** The queues that take no rows now, and until when their rows are left, in ms. */
  private readonly restUntilMs = new Map<string, number>();
  private doneTidiedAtMs = -Infinity;

  private readonly marks: SentMarks;

  constructor(private readonly parts: RelayParts) {
    this.marks = new SentMarks(parts);
  }

  start(): void {
    const { clock, pollMs } = this.parts;
    this.poll = clock.setInterval(() => this.shipSoon(), pollMs);
    this.poll.unref();
    this.shipSoon();
  }

  /** Looks for rows soon, several times, because the transaction of an enqueue may commit at any time. */
  expectCommit(): void {
    const { clock } = this.parts;
    const nowMs = Math.floor(clock.monotonic());
    for (const ms of HINTS_MS) {
      const dueMs = nowMs + ms;
      if (!this.hints.has(dueMs)) {
        const look = () => this.hints.delete(dueMs) && this.shipSoon();
        this.hints.set(dueMs, clock.setTimeout(look, ms));
        this.hints.get(dueMs)!.unref();
      }
    }
  }

  /** Ships the rows that are committed by now, after the turn that runs. */
  shipSoon(): void {
    if (this.stopped) {
      return;
    }
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = this.work().finally(() => {
      this.running = undefined;
      if (this.again) {
        this.again = false;
        this.shipSoon();
      }
    });
  }

  /** Ships all committed rows that may be shipped. Resolves when another relay has the turn, too. */
  async runOnce(): Promise<void> {
    await this.running;
    this.fullLookAtMs = -Infinity;
    await this.work();
  }

  /** Ends after the turn that runs. */
  async stop(): Promise<void> {
    this.stopped = true;
    const { clock } = this.parts;
    clock.clear(this.poll);
    this.hints.forEach((timer) => clock.clear(timer));
    await this.running;
  }

  /** Takes turns while there are rows. */
  private async work(): Promise<void> {
    try {
      let from: string | undefined = this.startOfLook();
      while (!this.stopped && from !== undefined && (await this.parts.table.hasRows(from))) {
        from = await this.turn(from);
      }
      await this.forgetDone();
    } catch (error) {
      this.noteTrouble(error as Error);
    }
  }

  /**
   * Returns the number behind which to look: of a row that was shipped a while ago. Now and then it is 0, for all rows,
   * because numbers are not in the order of commits. Behind deleted rows a search from the start is slow.
   */
  private startOfLook(): string {
    const now = this.parts.clock.monotonic();
    if (now - this.fullLookAtMs < this.parts.pollMs) {
      return this.hint;
    }
    this.fullLookAtMs = now;
    this.hint = this.nextHint;
    this.nextHint = this.lastShipped;
    return '0';
  }

  /** Returns the number behind which a further turn may find rows; undefined if there are none for now. */
  private async turn(from: string): Promise<string | undefined> {
    const { table } = this.parts;
    const found = await table.turn(async (turn) => {
      const rows = await this.rowsOf(turn, from);
      const shipped = await this.shipAll(turn, rows);
      return (await this.settle(turn, shipped)) ? { rows, shipped, turn } : undefined;
    });
    if (!found) {
      return undefined; // another relay has the turn
    }
    const { rows, shipped, turn } = found;
    const sent = shipped.flatMap(({ outcome }) => outcome.sent);
    shipped.forEach(({ name, outcome }) => this.countSent(name, outcome.sent.length));
    this.noteRests(shipped);
    const isAllSent = sent.length === rows.length && this.resting.length === 0;
    const last = isAllSent ? (rows.at(-1)?.seq ?? this.lastShipped) : '0';
    this.noteShipped(last);
    await Promise.all(
      shipped.map(async ({ queue, outcome }) => queue && this.marks.forget(turn.source, queue, outcome.sent)),
    );
    if (rows.length === MOST_ROWS && sent.length > 0) {
      return isAllSent ? last : from;
    }
    return shipped.some(({ outcome }) => outcome.newerFence !== undefined) ? from : undefined;
  }

  /**
   * Reads the rows of a turn. If one has a group, it looks for rows before them, and then reads all. An earlier row of this
   * group may have a smaller number than `from`, because its transaction was open for long.
   */
  private async rowsOf(turn: Turn, from: string): Promise<OutboxEntry[]> {
    const { table } = this.parts;
    const leftOut = { queues: this.resting, groups: await table.heldGroups(turn), limit: MOST_ROWS };
    const rows = await table.rows(turn, from, leftOut);
    if (from === '0' || rows.every(({ group }) => group === undefined)) {
      return rows;
    }
    const [first] = await table.rows(turn, '0', { ...leftOut, limit: 1 });
    return first?.seq === rows[0]?.seq ? rows : table.rows(turn, '0', leftOut);
  }

  private countSent(queue: string, count: number): void {
    if (count > 0) {
      this.relayed.set(queue, (this.relayed.get(queue) ?? 0) + count);
    }
  }

  /** Notes the last row of a turn; 0 if a row before it waits. */
  private noteShipped(seq: string): void {
    this.lastShipped = seq;
    if (seq === '0') {
      this.hint = this.nextHint = '0';
    }
  }

  /** The queues whose rows are left for now. */
  private get resting(): string[] {
    const now = this.parts.clock.monotonic();
    return [...this.restUntilMs].flatMap(([queue, until]) => (until > now ? [queue] : []));
  }

  private noteRests(shipped: readonly ShippedQueue[]): void {
    const until = this.parts.clock.monotonic() + REST_MS;
    for (const { name, outcome } of shipped) {
      if (outcome.trouble) {
        this.restUntilMs.set(name, until);
      } else {
        this.restUntilMs.delete(name);
      }
    }
    const trouble = shipped.find(({ outcome }) => outcome.trouble)?.outcome.trouble;
    if (trouble || this.restUntilMs.size === 0) {
      this.noteTrouble(trouble);
    }
  }

  /** Sends the rows, the queues beside each other. */
  private async shipAll({ source, fence }: Turn, rows: readonly OutboxEntry[]): Promise<ShippedQueue[]> {
    const byQueue = groupBy(rows, ({ connection, queue }) => `${connection}\t${queue}`);
    return Promise.all(
      [...byQueue.values()].map(async (each) => {
        const { connection, queue: name } = each[0]!;
        const queue = this.parts.queueOf(connection, name);
        if (!queue) {
          const trouble = new Error(`this app has no connection "${connection}", which a row for "${name}" needs`);
          return { name, queue, outcome: { sent: [], refused: [], held: new Set(), trouble } };
        }
        return { name, queue, outcome: await ship(queue, { source, fence }, each) };
      }),
    );
  }

  /**
   * Deletes the rows whose jobs are there, and sets refused ones aside. Returns false if another relay has the turn by
   * now. The marks of the rows must stay then, because it may be about to send them.
   */
  private async settle(turn: Turn, shipped: readonly ShippedQueue[]): Promise<boolean> {
    const { table, logger } = this.parts;
    const newest = Math.max(0, ...shipped.map(({ outcome }) => outcome.newerFence ?? 0));
    // No relay has drawn a newer fence from this database, so it was restored from a backup.
    if (newest > 0 && (await table.raiseFence(turn, newest))) {
      logger.warn(`The fence of the outbox was behind that of Redis (${newest}), and is raised.`);
    }
    const sent = shipped.flatMap(({ outcome }) => outcome.sent.map(({ seq }) => seq));
    if (!(await table.remove(turn, sent))) {
      return false;
    }
    for (const refused of shipped.flatMap(({ outcome }) => outcome.refused)) {
      await this.setAside(turn, refused);
    }
    return true;
  }

  private async setAside(turn: Turn, { row, reason, isFull }: Refused): Promise<void> {
    const { table, logger } = this.parts;
    const attempts = row.attempts + 1;
    const hasFailed = !isFull && attempts >= MOST_ATTEMPTS;
    const retryInMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(row.attempts, isFull ? 3 : 20));
    await table.setAside(turn, row.seq, reason, hasFailed ? undefined : retryInMs);
    if (attempts === 1 || hasFailed) {
      const next = hasFailed
        ? 'It stays until `npx nest-job-queue outbox retry`.'
        : `The next attempt is in ${retryInMs} ms.`;
      logger.warn(`The row ${row.seq} of the outbox was refused: ${reason}. ${next}`);
    }
  }

  private async forgetDone(): Promise<void> {
    const { table, clock, keepDoneMs } = this.parts;
    if (clock.monotonic() - this.doneTidiedAtMs >= TIDY_MS) {
      this.doneTidiedAtMs = clock.monotonic();
      await table.forgetDone(keepDoneMs);
    }
  }

  /** Logs a trouble once, and its end. */
  private noteTrouble(trouble: Error | undefined): void {
    const { logger } = this.parts;
    if (trouble && this.trouble?.message !== trouble.message) {
      logger.warn(`The outbox waits: ${trouble.message}. Committed rows stay in the database.`);
    } else if (!trouble && this.trouble) {
      logger.log('The outbox ships again.');
    }
    this.trouble = trouble;
  }
}
