import { STREAM_START, type StreamEntry, type StreamItem, type StreamPage } from '../model/job-stream.js';

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
