import { decodeContent } from '../codec/codec.js';
import { type Envelope, isEncoded, parseJson } from '../codec/stored-value.js';
import { JobNotFoundError, QueueClosedError } from '../errors/errors.js';
import type { JobEvent } from '../model/job-event.js';
import {
  STREAM_END_STATUSES,
  STREAM_START,
  type StreamEntry,
  type StreamItem,
  type StreamPage,
} from '../model/job-stream.js';
import { onceAborted, InterruptibleWait } from '../runtime/waits.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';
import { entryOf } from '../verbs/stream.js';
import type { JobSource } from './job-handle.js';
import { type CheckedReadOptions, checkReadOptions, type ReadStreamOptions } from './stream-options.js';

/** The interval in which a reader looks at its job, in ms, because messages can be missed. */
const LOOK_EVERY_MS = 2_000;
const LOOK_EVERY_MS_WITHOUT_EVENTS = 200;

/** The most published bytes that wait for a slow reader. Beyond that it reads them from Redis when it gets there. */
const MOST_WAITING = 262_144;

/** The time for which a reader goes on without an answer of Redis, in ms. */
const OUTAGE_MS = 60_000;
const PAUSE_MS = 500;

/** The time for which a reader keeps the record of its job, so that it can read the end, in ms. */
const HOLD_MS = 60_000;

/** The most entries that a window shows: the last ones. */
const MOST_LAST = 500;

/** The time that the result may take once the job has ended, in ms. */
const RESULT_MS = 10_000;

type StreamQueue = QueueAccess & Pick<JobSource, 'cancel'>;

/** The readers of a queue's streams in this process. They share the connection of its events. */
export class StreamReaders {
  private readonly open = new Set<StreamReader>();
  private closed = false;

  constructor(private readonly queue: StreamQueue) {}

  /**
   * Returns the items of a job's stream. Each loop over it reads by itself.
   *
   * @param result returns the result of the job once it has ended, or throws its error
   * @param isWindow true if unreadable chunks are shown as stored
   */
  stream(
    id: string,
    options: ReadStreamOptions,
    result: (timeoutMs: number) => Promise<unknown>,
    isWindow = false,
  ): AsyncIterable<StreamItem> {
    checkText('job id', id);
    const checked = checkReadOptions(options);
    return { [Symbol.asyncIterator]: () => this.read(id, checked, result, isWindow) };
  }

  /**
   * Returns the last items of a stream, as a window shows them. Empty for an unknown job.
   *
   * @param entries the number of its last entry
   */
  async last(id: string, entries: number): Promise<StreamItem[]> {
    const position = new StreamPosition(`${Math.max(0, entries - MOST_LAST)}-0`, decoderOf(this.queue, id, true));
    let before: StreamItem[] = [];
    for (;;) {
      const from = position.number;
      const page = await this.queue.exec((calls) => calls.streams.read({ id, from }));
      const items = position.follow(page?.entries ?? []);
      if (page?.more) items.push(...position.skipTo(page.end));
      if (!page?.more || position.number >= entries) {
        return [...before, ...items];
      }
      before = items; // two pages bound what a window holds
    }
  }

  /**
   * Returns all items that are stored now, as a window shows them.
   *
   * @throws JobNotFoundError, StreamCursorError
   */
  async *stored(id: string, after?: string): AsyncGenerator<StreamItem, void, undefined> {
    const position = new StreamPosition(checkReadOptions({ after }).after, decoderOf(this.queue, id, true));
    for (let isLast = false; !isLast;) {
      const from = position.number;
      const page = await this.queue.exec((calls) => calls.streams.read({ id, from }));
      if (page === null) {
        throw new JobNotFoundError(id, this.queue.name);
      }
      const items = position.take(page);
      isLast = !page.more && items[0]?.id !== STREAM_START;
      yield* items;
    }
  }

  /** Ends the readers, which throw a QueueClosedError. */
  close(): void {
    this.closed = true;
    this.open.forEach((reader) => reader.end(new QueueClosedError(this.queue.name)));
  }

  private warnOfCancel(id: string, { message }: Error): void {
    const { name, store } = this.queue;
    store.logger.warn(`Could not cancel job ${id} of queue "${name}", whose reader has left: ${message}`);
  }

  private async *read(
    id: string,
    { after, signal, cancelOnLeave }: CheckedReadOptions,
    result: (timeoutMs: number) => Promise<unknown>,
    isWindow: boolean,
  ): AsyncGenerator<StreamItem, void, undefined> {
    const reader = new StreamReader(this.queue, id, after, isWindow);
    const unfollow = signal && onceAborted(signal, () => reader.end(signal.reason as Error));
    this.open.add(reader);
    let isOver = false;
    try {
      if (this.closed) reader.end(new QueueClosedError(this.queue.name));
      if (signal?.aborted) reader.end(signal.reason as Error);
      yield* reader.items();
      isOver = true;
      const data = (await result(RESULT_MS)) ?? null;
      yield { type: 'result', id: reader.position.id, data };
    } finally {
      unfollow?.();
      this.open.delete(reader);
      reader.leave();
      if (cancelOnLeave && !isOver && !this.closed && !reader.isLost) {
        await this.queue.cancel(id).catch((error: Error) => this.warnOfCancel(id, error));
      }
    }
  }
}

class StreamReader {
  readonly position: StreamPosition;
  /** True if there is nothing to cancel. */
  isLost = false;
  private readonly wake: InterruptibleWait;
  private readonly leaving: (() => void)[] = [];
  /** Entries that were published behind the position, and their bytes. */
  private pushed: StreamEntry[] = [];
  private pushedBytes = 0;
  /** Where the pushed entries end. */
  private tail: StreamPosition;
  /** True if the stream may have entries that were not pushed, or its job has ended. */
  private isStale = true;
  private hasLeft = false;
  private reason: { error: unknown } | undefined;
  private heldUntil = 0;

  constructor(
    private readonly queue: StreamQueue,
    private readonly id: string,
    after: string,
    isWindow: boolean,
  ) {
    this.position = new StreamPosition(after, decoderOf(queue, id, isWindow));
    this.tail = new StreamPosition(after, () => undefined);
    this.wake = new InterruptibleWait(queue.store.clock);
  }

  /** Ends the loop with an error. */
  end(error: unknown): void {
    this.reason ??= { error };
    this.wake.end();
  }

  leave(): void {
    this.hasLeft = true;
    this.leaving.splice(0).forEach((leave) => leave());
  }

  /** Yields the items until the job has ended. */
  async *items(): AsyncGenerator<StreamItem, void, undefined> {
    const isHeard = this.queue.options.events !== 'off';
    if (isHeard) {
      this.listen().catch((error: unknown) => this.end(error));
    }
    const startedAt = this.now;
    for (let isOver = false; !isOver;) {
      this.throwIfEnded();
      if (this.pushed.length > 0) {
        yield* this.unlessEnded(this.position.follow(this.takePushed()));
      } else if (this.isStale) {
        this.isStale = false;
        const page = await this.page();
        const items = this.position.take(page);
        this.leavePushed();
        const isWhole = !page.more && items[0]?.id !== STREAM_START;
        this.isStale ||= !isWhole;
        isOver = isWhole && STREAM_END_STATUSES.includes(page.status);
        yield* this.unlessEnded(items);
      } else {
        await this.idle(startedAt, isHeard ? LOOK_EVERY_MS : LOOK_EVERY_MS_WITHOUT_EVENTS);
      }
    }
  }

  private *unlessEnded(items: readonly StreamItem[]): Generator<StreamItem, void, undefined> {
    for (const item of items) {
      this.throwIfEnded();
      yield item;
    }
  }

  /** Waits for news, at most until the next look. */
  private async idle(startedAt: number, lookMs: number): Promise<void> {
    if (this.now - startedAt >= LOOK_EVERY_MS) {
      await this.hold();
    }
    if (!this.isStale && this.pushed.length === 0 && !this.reason) {
      this.isStale = !(await this.wake.wait(lookMs)) || this.isStale;
    }
  }

  private get now(): number {
    return this.queue.store.clock.monotonic();
  }

  private throwIfEnded(): void {
    if (this.reason) {
      throw this.reason.error;
    }
  }

  /** Drops what was published while a page was read. The page has it, or the next one. */
  private leavePushed(): void {
    const pushed = this.takePushed();
    this.isStale ||= pushed.length > 0 && !this.position.isBehind(pushed);
    this.tail = new StreamPosition(this.position.id, () => undefined);
  }

  private takePushed(): StreamEntry[] {
    const entries = this.pushed;
    this.pushed = [];
    this.pushedBytes = 0;
    return entries;
  }

  /** Listens to the chunks, and to the end of the job. Looks once Redis has confirmed both, for what came before. */
  private async listen(): Promise<void> {
    const { store } = this.queue;
    const calls = await this.untilAnswered(() => this.queue.calls());
    const onEvent = ({ status }: JobEvent) => {
      if (STREAM_END_STATUSES.includes(status)) this.look();
    };
    await Promise.all(
      [
        store.listenToStream(calls, this.id, (message) => this.push(message)),
        store.subscribe(calls, onEvent, [this.id]),
      ].map(async (confirmed) => this.onLeave(await confirmed)),
    );
    this.look();
  }

  private onLeave(leave: () => void): void {
    if (this.hasLeft) {
      leave();
    } else {
      this.leaving.push(leave);
    }
  }

  private look(): void {
    this.isStale = true;
    this.wake.end();
  }

  /** Takes published entries if they follow at once. Else the reader looks. */
  private push(message: string): void {
    const told = parseTold(message);
    if (!told || this.tail.isBehind(told.entries)) {
      return;
    }
    if (this.tail.isBefore(told.prev, told.entries) && this.pushedBytes + message.length <= MOST_WAITING) {
      this.tail.follow(told.entries);
      this.pushed.push(...told.entries);
      this.pushedBytes += message.length;
    } else {
      this.isStale = true;
    }
    this.wake.end();
  }

  private async page(): Promise<StreamPage> {
    const page = await this.untilAnswered(() =>
      this.queue.exec((calls) => calls.streams.read({ id: this.id, from: this.position.number })),
    );
    if (page === null) {
      this.isLost = true;
      throw new JobNotFoundError(this.id, this.queue.name);
    }
    return page;
  }

  /** Asks Redis, also through an outage. */
  private async untilAnswered<Reply>(ask: () => Promise<Reply>): Promise<Reply> {
    const askedAt = this.now;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        this.throwIfEnded();
        if (!this.queue.store.passes(error) || this.now - askedAt > OUTAGE_MS) {
          throw error;
        }
      }
      await this.wake.wait(PAUSE_MS);
      this.throwIfEnded();
    }
  }

  /** Keeps the record of the job, so that a reader who is cut off for a while can read its end. A user who may only read cannot. */
  private async hold(): Promise<void> {
    if (this.heldUntil - this.now < HOLD_MS / 2) {
      this.heldUntil = this.now + HOLD_MS;
      await this.queue.exec((calls) => calls.holdResult({ id: this.id, forMs: HOLD_MS })).catch(() => undefined);
    }
  }
}

/**
 * Returns what decodes the chunks of a job.
 *
 * @param isWindow true if a chunk that this process cannot read is shown as stored
 */
function decoderOf(
  { options, name: queue }: QueueAccess,
  id: string,
  isWindow: boolean,
): (entry: StreamEntry) => unknown {
  const decoded = (value: Envelope): unknown => {
    try {
      return decodeContent(options.codec, value, 'chunk', { queue, id });
    } catch (error) {
      if (isWindow) {
        return value;
      }
      throw error;
    }
  };
  return ({ value, kind }) => {
    const chunk = isEncoded(value) ? decoded(value) : value;
    return kind === 'b' && typeof chunk === 'string' ? Buffer.from(chunk, 'base64') : chunk;
  };
}

interface Told {
  readonly prev: string;
  readonly entries: readonly StreamEntry[];
}

/** Returns a published message; undefined for an invalid one, because any client may publish. */
function parseTold(message: string): Told | undefined {
  const { prev, entries } = (parseJson(message).value ?? {}) as { prev?: unknown; entries?: unknown };
  if (typeof prev !== 'string' || !Array.isArray(entries)) {
    return undefined;
  }
  const found = entries.map((entry) => {
    const [id, field, value] = Array.isArray(entry) ? (entry as unknown[]) : [];
    return typeof id === 'string' && typeof field === 'string' ? entryOf(id, field, value) : undefined;
  });
  return found.every((entry) => entry !== undefined) ? { prev, entries: found } : undefined;
}

/**
 * Where a reader is in a stream. Entries are numbered, so a missing number means that entries were dropped. An id has the time of its
 * entry too. So an id of another stream, such as that of an earlier job with the same id, is noticed.
 */
export class StreamPosition {
  /** @param at the id of the last item that the reader has had */
  constructor(
    private at: string,
    private readonly dataOf: (entry: StreamEntry) => unknown,
  ) {}

  /** The id of the last item. */
  get id(): string {
    return this.at;
  }

  /** The number of the last item. */
  get number(): number {
    return numberOf(this.at);
  }

  /** Returns whether entries that were published follow the last item at once. */
  isBefore(prev: string, entries: readonly StreamEntry[]): boolean {
    const [first] = entries;
    return first !== undefined && prev === this.at && numberOf(first.id) === this.number + 1;
  }

  /** Returns whether the reader has had all these entries. */
  isBehind(entries: readonly StreamEntry[]): boolean {
    const last = entries.at(-1);
    return last !== undefined && numberOf(last.id) <= this.number;
  }

  /** Moves behind entries that follow, and returns them as items. Skips one whose number it has had. */
  follow(entries: readonly StreamEntry[]): StreamItem[] {
    return entries.flatMap((entry) => this.behind(entry));
  }

  /** Moves behind a page, and returns its items with the marks of missing entries. The page may begin with the last item. */
  take({ entries, last, end }: StreamPage): StreamItem[] {
    const [first] = entries;
    const known = first && numberOf(first.id) === this.number ? first : undefined;
    if (this.isOther(known, last)) {
      return this.startAnew(first);
    }
    return [...this.follow(known ? entries.slice(1) : entries), ...this.skipTo(end)];
  }

  /** Moves to an entry that the reader does not get. Returns the mark of the chunks that are missing before it, if any are. */
  skipTo(id: string): StreamItem[] {
    const missing = id === '' ? 0 : numberOf(id) - this.number;
    if (missing <= 0) {
      return [];
    }
    this.at = id;
    return [{ type: 'truncated', id, data: { missing } }];
  }

  /** Returns whether the last item is of another stream. */
  private isOther(known: StreamEntry | undefined, last: string): boolean {
    if (this.number === 0) {
      return false;
    }
    return known ? !this.at.endsWith('-0') && known.id !== this.at : numberOf(last || STREAM_START) < this.number;
  }

  private startAnew(first: StreamEntry | undefined): StreamItem[] {
    this.at = STREAM_START;
    const attempt = first?.attempt ?? 1;
    return [{ type: 'attempt', id: STREAM_START, attempt, data: { attempt, restart: true } }];
  }

  private behind(entry: StreamEntry): StreamItem[] {
    const { id, attempt, kind } = entry;
    const missing = numberOf(id) - this.number - 1;
    if (missing < 0) {
      return []; // of another program, because each number is there once
    }
    const restart = kind === 'r';
    this.at = id;
    const item: StreamItem =
      restart || kind === 'a'
        ? { type: 'attempt', id, attempt, data: { attempt, restart } }
        : { type: 'chunk', id, attempt, data: this.dataOf(entry) };
    // The time of the entry before is not known, and 0 stands for any.
    return missing > 0 && !restart
      ? [{ type: 'truncated', id: `${numberOf(id) - 1}-0`, data: { missing } }, item]
      : [item];
  }
}

function numberOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}
