import { RateWindow } from '../../inspect/rate-window.js';
import { short } from '../../queue/runtime/cut.js';
import type { Context } from '../context.js';
import { kindTable, readKinds, type ShownKind } from '../error-kinds.js';
import { readOverview, type Overview, type QueueOverview, jsonOf, overviewText } from '../overview.js';
import { lines, type Part, text } from '../text.js';
import type { LiveView, Shown } from './show-repeatedly.js';

/** The queues, one queue with its dead letters, or the dead letters of one. */
type Page = 'queues' | 'queue' | 'errors';

const KEYS: Readonly<Record<Page, string>> = {
  queues: '↑↓ Enter queue  e errors  p pause  q ends',
  queue: 'Esc back  e errors  p pause  q ends',
  errors: 'Esc back  p pause  q ends',
};
const LONGEST_PLACE = 24;
const MOST_KINDS = 5;

/** The live view of `top`: what it shows, and the keys that change it. */
export class TopView implements LiveView {
  private page: Page = 'queues';
  private selected: string | undefined;
  private queues: readonly QueueOverview[] = [];
  /** The queue that a key asks to pause or to resume. */
  private asked: { queue: string; verb: 'pause' | 'resume' } | undefined;
  private notice: Part | undefined;
  private readonly window = new RateWindow();

  constructor(
    private readonly context: Context,
    /** The only queue that is shown; undefined for all. */
    private readonly name: string | undefined,
  ) {}

  async read(): Promise<Shown> {
    const { session } = this.context;
    if (this.page === 'queues' || this.selected === undefined) {
      const overview = await readOverview(session, this.name, this.window);
      this.queues = overview.queues;
      return [jsonOf(overview), () => this.framed([this.overviewText(overview)])];
    }
    const { selected } = this;
    session.shards.beginAgain();
    const overview = await readOverview(session, selected, this.window);
    const isReadable = overview.queues.every(({ figures }) => figures !== undefined);
    const kinds = isReadable ? await readKinds(session, await session.known(selected)) : [];
    return [jsonOf(overview), () => this.framed(this.queueText(overview, kinds))];
  }

  /** Obeys a key. Returns whether to read again now. */
  press(key: string): boolean | Promise<boolean> {
    this.notice = undefined;
    if (this.asked) {
      return this.answer(key);
    }
    switch (key) {
      case 'up':
      case 'k':
        return this.move(-1);
      case 'down':
      case 'j':
        return this.move(1);
      case 'return':
      case 'enter':
        return this.open('queue');
      case 'e':
        return this.open('errors');
      case 'p':
        return this.ask();
      case 'escape':
      case 'left':
      case 'backspace':
        return this.open('queues');
      default:
        return false;
    }
  }

  private move(by: -1 | 1): boolean {
    const names = this.queues.map(({ verdict }) => verdict.queue);
    const at = this.selected === undefined ? -1 : names.indexOf(this.selected);
    if (this.page === 'queues' && names.length > 0) {
      this.selected = names[Math.min(names.length - 1, Math.max(0, at + by))];
    }
    return false;
  }

  private open(page: Page): boolean {
    this.selected ??= page === 'queues' ? undefined : this.queues[0]?.verdict.queue;
    this.page = this.selected === undefined ? 'queues' : page;
    return true;
  }

  private ask(): boolean {
    this.selected ??= this.queues[0]?.verdict.queue;
    const found = this.queues.find(({ verdict }) => verdict.queue === this.selected);
    if (found) {
      const isPaused = (found.figures?.signs.stats.pausedAt ?? null) !== null;
      this.asked = { queue: found.verdict.queue, verb: isPaused ? 'resume' : 'pause' };
    }
    return false;
  }

  /** Pauses or resumes the queue if the answer is yes. A refusal by Redis is shown, and the view goes on. */
  private async answer(key: string): Promise<boolean> {
    const { queue: name, verb } = this.asked!;
    this.asked = undefined;
    if (key !== 'y') {
      this.notice = 'Nothing was changed.';
      return false;
    }
    try {
      const { session, user: by } = this.context;
      session.shards.beginAgain();
      const queue = await session.known(name);
      await (verb === 'pause' ? queue.pause(by === undefined ? {} : { by }) : queue.resume());
      const unreached = [...session.shards.unreached.keys()];
      const left = unreached.length > 0 ? text`. Not reached: ${unreached.join(', ')}` : '';
      this.notice = text`${name} ${verb === 'pause' ? 'paused' : 'resumed'}${left}`;
    } catch (error) {
      this.notice = text`Could not ${verb} ${name}: ${(error as Error).message}`;
    }
    return true;
  }

  private overviewText(overview: Overview): Part {
    const { out, session, stdin } = this.context;
    const selection = out.isTerminal && stdin.isTTY ? { selection: { queue: this.selected } } : {};
    return overviewText(overview, session.noQueues().message, out, { verdicts: 'worst above', ...selection });
  }

  private queueText(overview: Overview, kinds: readonly ShownKind[]): Part[] {
    const { out } = this.context;
    const { page, selected = '' } = this;
    const heading = text`Dead letters of ${selected}`;
    return page === 'errors'
      ? [heading, '', kindTable(kinds, out)]
      : [
          overviewText(overview, '', out, { verdicts: 'worst above' }),
          ...(kinds.length > 0 ? ['', heading, kindTable(kinds.slice(0, MOST_KINDS), out)] : []),
        ];
  }

  /** Returns the text below the clock, the keys, and a question if one is open. On a pipe it stays alone. */
  private framed(parts: readonly Part[]): Part {
    const { session, out, stdin } = this.context;
    if (!out.isTerminal) {
      return lines(parts);
    }
    const at = new Date(out.nowMs).toISOString().slice(11, 19);
    const keys = stdin.isTTY ? `  ${KEYS[this.page]}` : '';
    const clock = out.color('dim', text`${at} UTC  ${short(session.place, LONGEST_PLACE)}${keys}`);
    const said = this.asked
      ? text`${this.asked.verb === 'pause' ? 'Pause' : 'Resume'} ${this.asked.queue} for the whole fleet? y/n`
      : this.notice;
    return lines([clock, ...(said === undefined ? [] : [out.color('yellow', said)]), ...parts]);
  }
}
