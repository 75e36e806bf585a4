// Moves the rows of an outbox to their queues, and remembers in Redis which rows were sent.
import { show, oneLine } from '../queue/errors/show.js';
import type { BackgroundRole } from '../queue/runtime/background-role.js';
import { type Clock, type Timer, outsideOfCaller } from '../queue/runtime/clock.js';
import { groupBy } from '../queue/runtime/collections.js';
import type { JobQueueLogger } from '../queue/runtime/logger.js';
import type { OutboxEntry, Turn } from './dialects.js';
import { BEFORE_ALL, queueKey, type OutboxTable } from './outbox-table.js';
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
/** The age at which a row is set aside if no relay has its connection, in ms. It is also the time between two looks. */
const STRANGE_MS = 60_000;
/** The most characters of a reason that a row keeps. */
const LONGEST_REASON = 1_000;

export interface RelayParts {
  table: OutboxTable;
  /** The connections whose rows it ships. */
  connections: readonly string[];
  /** Returns a queue of one of these connections. @throws InvalidOptionError for a name that no queue can have */
  queueOf(connection: string, queue: string): ShippingQueue;
  clock: Clock;
  logger: JobQueueLogger;
  /** The time between two looks for rows, in ms. */
  pollMs: number;
  /** The time for which notes of done work are kept, in ms. */
  keepDoneMs: number;
}

/** The outcome of the rows of one queue. */
interface ShippedQueue {
  /** See `queueKey`. */
  key: string;
  name: string;
  /** Undefined if no queue can have this name. */
  queue: ShippingQueue | undefined;
  outcome: Shipped;
}

/** A refused row, as far as setting it aside needs it. */
interface SetAside extends Omit<Refused, 'row'> {
  row: Pick<OutboxEntry, 'seq' | 'attempts'>;
}

/** The rows of a turn could not be read. */
class UnreadableRows extends Error {}

/** Moves committed rows to their queues. Each process may run one; the database lets one at a time ship. */
export class Relay implements BackgroundRole {
  /** The error of the last turn or of a queue; undefined if all is well. */
  trouble: Error | undefined;
  private troubledSinceMs = 0;
  /** The number of rows that were moved, by queue. */
  readonly relayed = new Map<string, number>();
  private stopped = false;
  private running: Promise<void> | undefined;
  private again = false;
  private poll: Timer | undefined;
  /** The looks after enqueues by their time, in ms. Enqueues of the same ms share them. */
  private readonly hints = new Map<number, Timer>();
  /** The last shipped number, if no row before it waits. */
  private lastShipped = BEFORE_ALL;
  /** The same at the last look at all rows, and at the one before: transactions may still commit smaller numbers. */
  private nextHint = BEFORE_ALL;
  private hint = BEFORE_ALL;
  private fullLookAtMs = -Infinity;
  /** The queues that take no rows now, and until when their rows are left, in ms. */
  private readonly restUntilMs = new Map<string, number>();
  /** The rows that the next turn reads. Fewer after rows that could not be read, so that the bad one is found. */
  private limit = MOST_ROWS;
  private doneTidiedAtMs = -Infinity;
  private strangersAtMs = -Infinity;

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
    const work = outsideOfCaller(() => this.work()); // it ships the rows of all callers
    this.running = work.finally(() => {
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
    this.fullLookAtMs = this.strangersAtMs = -Infinity;
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
      const { table, connections } = this.parts;
      while (!this.stopped && from !== undefined && (await table.hasRows(from, connections))) {
        from = await this.turnWithin(from);
      }
      await this.setStrangersAside();
      await this.forgetDone();
    } catch (error) {
      this.noteTrouble(error as Error);
    }
  }

  /**
   * Returns the number behind which to look: of a row that was shipped a while ago. Now and then it is that for all rows,
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
    return BEFORE_ALL;
  }

  /**
   * Takes a turn. If its rows cannot be read, the next turn reads fewer of them. A row that cannot be read alone is set
   * aside.
   */
  private async turnWithin(from: string): Promise<string | undefined> {
    try {
      const next = await this.turn(from);
      this.limit = Math.min(MOST_ROWS, this.limit * 4);
      return next;
    } catch (error) {
      if (!(error instanceof UnreadableRows)) {
        throw error;
      }
      if (this.limit === 1) {
        await this.setUnreadableAside(from, error.cause as Error);
      }
      this.limit = Math.max(1, Math.floor(this.limit / 4));
      return from;
    }
  }

  /** Returns the number behind which a further turn may find rows; undefined if there are none for now. */
  private async turn(from: string): Promise<string | undefined> {
    const { table } = this.parts;
    const { limit } = this;
    const found = await table.turn(async (turn) => {
      const rows = await this.rowsOf(turn, from).catch((cause: unknown) => {
        throw new UnreadableRows('unreadable rows', { cause });
      });
      const shipped = await this.shipAll(turn, rows);
      return (await this.settle(turn, shipped)) ? { rows, shipped, turn } : undefined;
    });
    if (!found) {
      return undefined; // another relay has the turn
    }
    const { rows, shipped, turn } = found;
    const sent = shipped.flatMap(({ outcome }) => outcome.sent);
    const isAnySettled = shipped.some(({ outcome }) => outcome.sent.length + outcome.refused.length > 0);
    shipped.forEach(({ name, outcome }) => this.countSent(name, outcome.sent.length));
    this.noteRests(shipped);
    const isAllSent = sent.length === rows.length && this.resting.length === 0;
    const last = isAllSent ? (rows.at(-1)?.seq ?? this.lastShipped) : BEFORE_ALL;
    this.noteShipped(last);
    await Promise.all(
      shipped.map(async ({ queue, outcome }) => queue && this.marks.forget(turn.source, queue, outcome.sent)),
    );
    if (rows.length === limit && isAnySettled) {
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
    const asked = await this.askedIn(turn);
    const rows = await table.rows(turn, from, asked);
    if (from === BEFORE_ALL || rows.every(({ group }) => group === undefined)) {
      return rows;
    }
    const [first] = await table.numbers(turn, BEFORE_ALL, { ...asked, limit: 1 });
    return first?.seq === rows[0]?.seq ? rows : table.rows(turn, BEFORE_ALL, asked);
  }

  private async askedIn(turn: Turn) {
    const { table, connections } = this.parts;
    return { connections, resting: this.resting, groups: await table.heldGroups(turn), limit: this.limit };
  }

  /** Sets the first row aside, which cannot be read. @throws the error, if no row can be read: none is to blame then */
  private async setUnreadableAside(from: string, error: Error): Promise<void> {
    const { table } = this.parts;
    await table.turn(async (turn) => {
      const asked = await this.askedIn(turn);
      await table.rows(turn, from, { ...asked, limit: 0 });
      const [row] = await table.numbers(turn, from, asked);
      await (row && this.setAside(turn, { row, reason: error.message, isFull: false }));
    });
  }

  /** Sets rows aside whose connection no relay has. Another relay may have it, and is given some time. */
  private async setStrangersAside(): Promise<void> {
    const { table, clock, connections } = this.parts;
    if (clock.monotonic() - this.strangersAtMs < STRANGE_MS) {
      return;
    }
    this.strangersAtMs = clock.monotonic();
    if (!(await table.hasStrangers(connections, STRANGE_MS))) {
      return;
    }
    await table.turn(async (turn) => {
      for (const row of await table.strangers(turn, connections, STRANGE_MS)) {
        const reason = `connection: expected that of a relay, such as ${show(connections[0])}, found ${show(row.connection)}`;
        await this.setAside(turn, { row, reason, isFull: false });
      }
    });
  }

  private countSent(queue: string, count: number): void {
    if (count > 0) {
      this.relayed.set(queue, (this.relayed.get(queue) ?? 0) + count);
    }
  }

  /** Notes the last row of a turn; BEFORE_ALL if a row before it waits. */
  private noteShipped(seq: string): void {
    this.lastShipped = seq;
    if (seq === BEFORE_ALL) {
      this.hint = this.nextHint = BEFORE_ALL;
    }
  }

  /** The queues whose rows are left for now. */
  private get resting(): string[] {
    const now = this.parts.clock.monotonic();
    return [...this.restUntilMs].flatMap(([queue, until]) => (until > now ? [queue] : []));
  }

  private noteRests(shipped: readonly ShippedQueue[]): void {
    const until = this.parts.clock.monotonic() + REST_MS;
    for (const { key, outcome } of shipped) {
      if (outcome.trouble) {
        this.restUntilMs.set(key, until);
      } else {
        this.restUntilMs.delete(key);
      }
    }
    const trouble = shipped.find(({ outcome }) => outcome.trouble)?.outcome.trouble;
    if (trouble || this.restUntilMs.size === 0) {
      this.noteTrouble(trouble);
    }
  }

  /** Sends the rows, the queues beside each other. */
  private async shipAll(turn: Turn, rows: readonly OutboxEntry[]): Promise<ShippedQueue[]> {
    const byQueue = groupBy(rows, queueKey);
    return Promise.all([...byQueue].map(([key, each]) => this.shipTo(key, turn, each)));
  }

  /** Sends the rows of one queue. Its errors end no turn, which has rows of other queues. */
  private async shipTo(key: string, { source, fence }: Turn, rows: readonly OutboxEntry[]): Promise<ShippedQueue> {
    const { connection, queue: name } = rows[0]!;
    const nothing = { sent: [], refused: [], held: new Set<string>() };
    let queue: ShippingQueue;
    try {
      queue = this.parts.queueOf(connection, name);
    } catch (error) {
      const refused = rows.map((row) => ({ row, reason: (error as Error).message, isFull: false }));
      return { key, name, queue: undefined, outcome: { ...nothing, refused } };
    }
    try {
      const parts = { queue, sender: { source, fence }, hadTrouble: this.restUntilMs.has(key) };
      return { key, name, queue, outcome: await ship(parts, rows) };
    } catch (error) {
      return { key, name, queue, outcome: { ...nothing, trouble: error as Error } };
    }
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

  private async setAside(turn: Turn, { row, reason: given, isFull }: SetAside): Promise<void> {
    const { table, logger } = this.parts;
    const attempts = row.attempts + 1;
    const hasFailed = !isFull && attempts >= MOST_ATTEMPTS;
    const retryInMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(row.attempts, isFull ? 3 : 20));
    const reason = oneLine(given, LONGEST_REASON);
    await table.setAside(turn, { seq: row.seq, attempts }, reason, hasFailed ? undefined : retryInMs);
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
    if (!this.trouble) {
      this.troubledSinceMs = this.parts.clock.monotonic();
    }
    this.trouble = trouble;
  }

  /** Returns how long the relay has had trouble without a good turn between, in ms; undefined if all is well. */
  get troubledForMs(): number | undefined {
    return this.trouble && this.parts.clock.monotonic() - this.troubledSinceMs;
  }
}

/** The time between two looks for marks without a row, in ms. */
const MARKS_TIDY_MS = 3_600_000;
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
    const isDue = now - (this.tidiedAtMs.get(queue) ?? -Infinity) >= MARKS_TIDY_MS;
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
