/** What a move did, and what it left. */
export interface MoveReport {
  from: string;
  to: string;
  /** The library that wrote the queue, with its version if it is known. */
  source: string;
  /** The jobs that are here now, by the place where they waited. */
  moved: Record<string, number>;
  /** The jobs that another job made superfluous, by their key of deduplication. */
  deduplicated: number;
  /** The jobs that were deleted there while they were in transit. */
  deleted: number;
  schedules: string[];
  /** What was set here for the whole fleet. */
  settings: string[];
  /** The numbers of jobs and schedulers that stay there, by reason, with some of their ids. */
  left: Left[];
  /** The options without a counterpart, and how many moved jobs had them. */
  dropped: Record<string, number>;
  /** The jobs of each state that are there now. */
  remaining: Record<string, number>;
  /** The names of moved jobs without a handler in a live worker of the new queue. */
  unhandled: string[];
}

/** Returns the report of a move that has not begun. */
export function newReport(
  about: Pick<MoveReport, 'from' | 'to' | 'source'> & Partial<Pick<MoveReport, 'settings'>>,
): MoveReport {
  return {
    moved: {},
    deduplicated: 0,
    deleted: 0,
    schedules: [],
    settings: [],
    left: [],
    dropped: {},
    remaining: {},
    unhandled: [],
    ...about,
  };
}

/** Jobs, schedulers or batches that stay, for one reason. */
export interface Left {
  what: 'job' | 'scheduler' | 'batch';
  reason: string;
  count: number;
  /** Some of their ids. */
  ids: string[];
}

const MOST_IDS = 5;

/** Counts what stays, by reason. */
export class LeftCounter {
  private readonly found = new Map<string, Left>();

  add(what: Left['what'], reason: string, id: string): void {
    const key = `${what} ${reason}`;
    const left = this.found.get(key) ?? { what, reason, count: 0, ids: [] };
    this.found.set(key, left);
    left.count += 1;
    if (left.ids.length < MOST_IDS) {
      left.ids.push(id);
    }
  }

  get all(): Left[] {
    return [...this.found.values()].toSorted((a, b) => b.count - a.count);
  }
}

/** Adds one to a count of a record. */
export function tally(record: Record<string, number>, key: string): void {
  record[key] = (record[key] ?? 0) + 1;
}

/** Returns the sum of the counts of a record. */
export function totalOf(record: Record<string, number>): number {
  return Object.values(record).reduce((sum, each) => sum + each, 0);
}

/** The steps of a move, after each of which a test kills it. */
export type MoveStep = 'take' | 'import' | 'give-back' | 'acknowledge' | 'forget' | 'take-scheduler' | 'upsert';
