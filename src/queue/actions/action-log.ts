import { hostname } from 'node:os';
import { basename } from 'node:path';
import { z } from 'zod';
import { EncryptedQueueError } from '../errors/enqueue-errors.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { ActionAuthor, ActionEntry, NotedAction, StoredAction } from '../store/action-entry.js';
import { wholeNumber } from '../validation/numbers.js';
import { checkOptions } from '../validation/validate-options.js';
import type { NewAction } from './noted-action.js';

/** The most entries that one command reads. */
const PAGE = 1_000;

const text = z.string({ error: 'expected text' }).min(1, 'expected text that is not empty');
const latestSchema = z.strictObject(
  {
    limit: wholeNumber(1, PAGE).default(100),
    before: z
      .string()
      .regex(/^\d{1,20}-\d{1,20}$/, 'expected the entryId of an entry')
      .optional(),
    action: text.optional(),
    by: text.optional(),
    via: z.enum(['dashboard', 'cli', 'app'], { error: 'expected dashboard, cli, app' }).optional(),
  },
  { error: 'expected an object with limit, before, action, by, via' },
);

/** The filter of entries; all fields must match. */
export interface ActionFilter {
  /** The action, such as `pause`. */
  action?: string | undefined;
  /** A text in the name of the author; letters A to Z in either case. */
  by?: string | undefined;
  /** The way of the action. */
  via?: ActionAuthor['via'] | undefined;
}

/** A queue whose verbs write to its action log. */
export interface Logged {
  readonly actionLog: ActionLog;
}

/** The queue that the log belongs to. */
type LoggedQueue = QueueAccess & { author?: ActionAuthor | null | undefined };

/** How an action is written down. */
interface Recording<Outcome> {
  /** Returns the number of changes. @default 1 */
  count?: (outcome: Outcome) => number;
  /** Returns whether an error means that nothing was changed. @default that of an option, or of an encrypted queue */
  isRefusal?: (error: unknown) => boolean;
}

/**
 * Who did what to the queue, in the dashboard, on the command line and in the code of apps. About 10,000 entries are
 * kept.
 *
 * @example const [last] = await queue.actionLog.latest({ action: 'pause', limit: 1 });
 */
export class ActionLog {
  /** @internal */
  constructor(private readonly queue: LoggedQueue) {}

  /**
   * Returns entries, newest first. An action that has not ended has no `count`.
   *
   * @param options.limit at most 1,000. Default 100
   * @param options.before continues before the entry with this `entryId`
   * @throws InvalidOptionError
   */
  async latest(
    options: ActionFilter & { limit?: number | undefined; before?: string | undefined } = {},
  ): Promise<ActionEntry[]> {
    const { limit, before, ...filter } = checkOptions('actionLog.latest', latestSchema, options);
    const found: ActionEntry[] = [];
    const ended = new Set<string>();
    // From the newest, because the end of an action is later than its begin, and hides it.
    for (let from = ''; found.length < limit;) {
      // An action has two entries, so the first page of an unfiltered log mostly suffices.
      const most = from === '' ? Math.min(PAGE, 2 * limit) : PAGE;
      const page = await this.queue.exec((calls) => calls.actions.read({ before: from, limit: most }));
      const entries = page.flatMap((entry) => shown(entry, ended));
      found.push(...entries.filter((entry) => isMeant(entry, filter) && isBefore(entry.entryId, before)));
      if (page.length < most) {
        break;
      }
      from = page.at(-1)!.entryId;
    }
    return found.slice(0, limit);
  }

  /**
   * Does an action between two entries: the first has no count, the second one has it. So there is no action without an
   * entry, whenever this process dies. An action of an app's code that changes nothing leaves none.
   *
   * @internal
   */
  async record<Outcome>(
    action: NewAction,
    change: () => Promise<Outcome>,
    { count = () => 1, isRefusal = isNothingDone }: Recording<Outcome> = {},
  ): Promise<Outcome> {
    const author = this.queue.author === undefined ? programAsAuthor() : this.queue.author;
    if (author === null) {
      return change();
    }
    const entry = { ...author, ...action };
    const of = await this.note({ ...entry, count: null });
    let outcome: Outcome;
    try {
      outcome = await change();
    } catch (error) {
      await (isRefusal(error) && this.noteEnd({ ...entry, count: null, of, isVoid: true }));
      throw error;
    }
    const changed = count(outcome);
    const isVoid = changed === 0 && author.via === 'app';
    await this.noteEnd({ ...entry, count: changed, of, ...(isVoid && { isVoid }) });
    return outcome;
  }

  /** Adds the second entry of an action. Logs an error of it, because the action is over. The first entry stays. */
  private async noteEnd(entry: NotedAction): Promise<void> {
    try {
      await this.note(entry);
    } catch (error) {
      const words = `Could not write to the action log of queue "${this.queue.name}" how "${entry.action}" ended`;
      this.queue.store.logger.error(`${words}: ${(error as Error).message}`);
    }
  }

  /**
   * Does an action on one job. An app's own code does so all day, and then leaves no entry; the audit trail has it.
   *
   * @internal
   */
  async recordOfJob<Outcome>(
    action: NewAction,
    change: () => Promise<Outcome>,
    recording: Recording<Outcome>,
  ): Promise<Outcome> {
    return this.queue.author ? this.record(action, change, recording) : change();
  }

  /** Adds an entry. Returns its id. @internal */
  note(action: NotedAction): Promise<string> {
    return this.queue.exec((calls) => calls.actions.note(action));
  }
}

function isNothingDone(error: unknown): boolean {
  return error instanceof InvalidOptionError || error instanceof EncryptedQueueError;
}

/** Returns whether an entry is earlier than another; true without another. */
function isBefore(entryId: string, other: string | undefined): boolean {
  const [at = 0, number = 0] = entryId.split('-').map(Number);
  const [otherAt = Infinity, otherNumber = Infinity] = other?.split('-').map(Number) ?? [];
  return at < otherAt || (at === otherAt && number < otherNumber);
}

/** Returns an entry, unless a later one is its end. @param ended the begun entries whose ends were seen, added here */
function shown({ of, isVoid, ...entry }: StoredAction, ended: Set<string>): ActionEntry[] {
  if (of !== undefined) {
    ended.add(of);
  }
  return isVoid || ended.has(entry.entryId) ? [] : [entry];
}

function isMeant(
  entry: ActionEntry,
  { action, by, via }: { [Key in keyof ActionFilter]: ActionFilter[Key] | undefined },
) {
  return (
    (action === undefined || entry.action === action) &&
    (by === undefined || entry.by.toLowerCase().includes(by.toLowerCase())) &&
    (via === undefined || entry.via === via)
  );
}

/** Returns the code of this process as an author: its program, host and process id. */
function programAsAuthor(): ActionAuthor {
  const program = basename(process.argv[1] ?? process.title).replace(/\.[cm]?[jt]s$/, '');
  return { via: 'app', by: `${program}@${hostname().slice(0, 64)} (pid ${process.pid})` };
}
