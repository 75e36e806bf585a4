// What the histories say of each job.
import type { Entry, EnqueueOutcome, Settlement, Verb } from './history.js';
import { Jobs } from './jobs.js';
import {
  ADDED,
  CANCELLED,
  CANCEL_ASKED,
  DOUBT,
  FAILS,
  FINAL,
  LATER,
  NOT_ADDED,
  OPEN,
  PLANTED,
  REDRIVEN,
  REMOVED,
  REMOVE_ASKED,
  REPLACED,
  RESCHEDULED,
  UNSURE,
} from './marks.js';
import { Remarks } from './remarks.js';
import { Ticks } from './ticks.js';

export interface Claim {
  fence: number;
  /** When its handler was called, which is after the claim. */
  startMs: number;
}

/** An attempt that was settled otherwise than by a completion. */
export interface Settled {
  what: Settlement;
  fence: number;
  /** When its handler had ended, which is before the settlement was sent. */
  endMs: number;
}

/** Takes the entries of all files, file by file; that of the runner first, then those of producers. */
export class Facts {
  readonly jobs = new Map<number, Jobs>();
  /** The first attempts of jobs whose order is promised, by the process that enqueued them. */
  readonly firstAttempts = new Map<number, [number: number, fence: number][]>();
  /** Jobs by the id that several enqueues share. */
  readonly sharers = new Map<string, Set<string>>();
  /** The claims of jobs that were started more than once. */
  readonly claims = new Map<string, Claim[]>();
  readonly settlements = new Map<string, Settled[]>();
  /** When a job may start at the earliest, and when it did. */
  readonly dueMs = new Map<string, number>();
  readonly startedMs = new Map<string, number>();
  readonly ticks = new Ticks();
  /** Settlements that came too late and were refused. */
  refused = 0;
  readonly plantedIds = new Set<string>();
  /** When a producer tried in vain to have its next jobs acknowledged. */
  readonly vain: { fromMs: number; toMs: number }[] = [];
  readonly remarks = new Remarks();
  /** Ms of the monotonic clock at which some job was completed. */
  readonly activeMs = new Set<number>();
  /** Settlements that were sent, perhaps, and not answered: `process:number:fence` to how and when the handler ended. */
  private readonly open = new Map<string, { ok: boolean; endMs: number }>();
  private readonly lost = new Set<string>();
  private readonly unsureClaims = new Set<string>();
  private readonly forgetful: { fromMs: number; toMs: number }[] = [];
  private process = 0;
  private tryingSinceMs: number | undefined;
  private nowMs = 0;

  readonly add = (entry: Entry): void => {
    switch (entry[0]) {
      case 'process':
        this.process = entry[1];
        this.tryingSinceMs = undefined;
        if (entry[2] === 'fifo-producer') this.firstAttempts.set(entry[1], []);
        return;
      case 'time':
        this.nowMs = entry[1];
        return;
      case 'enqueue':
        this.tryingSinceMs ??= this.nowMs;
        return this.of(this.process, entry[1] + entry[2] - 1, (jobs) => {
          jobs.state.fill(OPEN, entry[1], entry[1] + entry[2]);
        });
      case 'kind':
        return this.kind(entry[1], entry[2], entry[3]);
      case 'enqueued':
        if (this.tryingSinceMs !== undefined) this.vain.push({ fromMs: this.tryingSinceMs, toMs: this.nowMs });
        this.tryingSinceMs = undefined;
        return this.added(entry[1], entry[2]);
      case 'answer':
        return this.answer(entry[1], entry[2], entry[3]);
      case 'start':
        return this.start(entry[1], entry[2], entry[3], entry[4], entry[5]);
      case 'ok':
        return this.ok(entry[1], entry[2], entry[3]);
      case 'end':
        return this.end(entry[1], entry[2], entry[3], false);
      case 'ran':
        this.start(entry[1], entry[2], entry[3], entry[4]);
        return this.ok(entry[1], entry[2], entry[4]);
      case 'tick':
        return this.ticks.add(entry[1], entry[2], entry[3], this.sure);
      case 'call':
        return this.call(entry[1], entry[2], entry[3]);
      case 'answered':
        return this.answered(entry[1], entry[2], entry[3], entry[4]);
      case 'plant':
        this.plantedIds.add(entry[4]);
        return this.mark(entry[2], entry[3], PLANTED);
      case 'forgotten':
        entry[1].forEach((process) => this.of(process, 0, (jobs) => (jobs.forgotten = true)));
        return;
      case 'window':
        this.forgetful.push({ fromMs: entry[1], toMs: entry[2] });
        return;
      case 'damage':
      case 'undamaged':
      case 'mended':
      case 'script':
      case 'slow':
      case 'fault':
      case 'healed':
        return this.remarks.add(entry, this.nowMs);
      default:
        return this.settled(...entry);
    }
  };

  /** Ends the reading: what is open now stays so. */
  finish(): void {
    for (const [key, { ok }] of this.open) {
      const [process, number] = key.split(':').map(Number);
      if (ok) this.mark(process!, number!, DOUBT);
    }
    this.open.clear();
    this.lost.clear();
    // A job whose payload was broken looks like a recurring one to the worker that is told of its end.
    for (const id of this.plantedIds) this.ticks.all.delete(id);
  }

  /** Whether what is answered now holds: a master that dies takes with it what its replica has not heard of yet. */
  private get sure(): boolean {
    return !this.forgetful.some(({ fromMs, toMs }) => fromMs <= this.nowMs && this.nowMs <= toMs);
  }

  private of(process: number, number: number, change: (jobs: Jobs) => unknown): void {
    let jobs = this.jobs.get(process);
    if (!jobs) this.jobs.set(process, (jobs = new Jobs()));
    jobs.reach(number);
    change(jobs);
  }

  private mark(process: number, number: number, mark: number): void {
    this.of(process, number, ({ marks }) => (marks[number]! |= mark));
  }

  private added(first: number, count: number): void {
    const { sure } = this;
    this.of(this.process, first, ({ state }) => state.fill(sure ? ADDED : OPEN, first, first + count));
    if (sure) return;
    for (let number = first; number < first + count; number++) this.mark(this.process, number, UNSURE);
  }

  private kind(number: number, kind: string, delayMs: number): void {
    if (kind === 'final') this.mark(this.process, number, FINAL);
    // To tell the progress is to ask Redis, which may fail.
    if (kind === 'fatal' || kind === 'progress') this.mark(this.process, number, FAILS);
    if (kind === 'later') this.mark(this.process, number, LATER);
    else if (delayMs > 0) this.dueMs.set(`${this.process}:${number}`, this.nowMs + delayMs);
  }

  private answer(number: number, outcome: EnqueueOutcome, id: string): void {
    if (outcome === 'unknown') {
      this.of(this.process, number, ({ state }) => (state[number] = OPEN));
      return;
    }
    const states = {
      new: ADDED,
      existing: ADDED,
      replaced: REPLACED,
      kept: NOT_ADDED,
      'not-sent': NOT_ADDED,
      refused: NOT_ADDED,
    };
    if (states[outcome] !== NOT_ADDED && !this.sure) this.added(number, 1);
    else this.of(this.process, number, ({ state }) => (state[number] = states[outcome]));
    if (states[outcome] !== NOT_ADDED && id !== '') this.share(id, this.process, number);
  }

  share(id: string, process: number, number: number): void {
    let sharers = this.sharers.get(id);
    if (!sharers) this.sharers.set(id, (sharers = new Set()));
    sharers.add(`${process}:${number}`);
  }

  private start(process: number, number: number, attempt: number, fence: number, id?: string): void {
    const key = `${process}:${number}`;
    const { sure } = this;
    this.of(process, number, (jobs) => {
      jobs.starts[number]!++;
      jobs.mostAttempts[number] = Math.max(jobs.mostAttempts[number]!, attempt);
      // A claim that is forgotten with its server is made again, by the same number perhaps.
      if (!sure) {
        this.unsureClaims.add(`${this.process}/${key}:${fence}`);
        return;
      }
      jobs.lastFence[number] = Math.max(jobs.lastFence[number]!, fence);
      if (jobs.firstFence[number] === 0) {
        jobs.firstFence[number] = fence;
        jobs.firstStartMs[number] = this.nowMs;
      } else {
        const first = { fence: jobs.firstFence[number]!, startMs: jobs.firstStartMs[number]! };
        listOf(this.claims, key, first).push({ fence, startMs: this.nowMs });
      }
    });
    if (id !== undefined) this.share(id, process, number);
    if (attempt === 1 && sure) this.firstAttempts.get(process)?.push([number, fence]);
    if (this.dueMs.has(key)) {
      this.startedMs.set(key, Math.min(this.startedMs.get(key) ?? Infinity, this.nowMs));
    }
  }

  private ok(process: number, number: number, fence: number): void {
    this.of(process, number, (jobs) => jobs.oks[number]!++);
    this.end(process, number, fence, true);
  }

  private end(process: number, number: number, fence: number, ok: boolean): void {
    const key = `${process}:${number}:${fence}`;
    if (!this.lost.delete(key)) this.open.set(key, { ok, endMs: this.nowMs });
  }

  private settled(what: Settlement, process: number, number: number, fence: number): void {
    const key = `${process}:${number}:${fence}`;
    const end = this.open.get(key);
    this.open.delete(key);
    if (what === 'lost') this.refused++;
    if (what === 'completed') {
      this.activeMs.add(this.nowMs);
      // Under a fence that was given again, the settle of a forgotten claim looks like the repeat of the later one's.
      if (!this.sure || this.unsureClaims.has(`${this.process}/${key}`)) return this.mark(process, number, DOUBT);
      this.of(process, number, (jobs) => {
        jobs.completions[number]!++;
        jobs.completedFence[number] = Math.max(jobs.completedFence[number]!, fence);
      });
      return;
    }
    if (what === 'cancelled' && this.sure) this.mark(process, number, CANCELLED);
    if (what === 'lost') {
      if (!end) this.lost.add(key);
    } else if (end && this.sure) {
      listOf(this.settlements, `${process}:${number}`).push({ what, fence, endMs: end.endMs });
    }
  }

  private call(verb: Verb, process: number, number: number): void {
    const marks = { cancel: CANCEL_ASKED, remove: REMOVE_ASKED, redrive: REDRIVEN, reschedule: RESCHEDULED };
    this.mark(process, number, marks[verb]);
  }

  private answered(verb: Verb, process: number, number: number, answer: string): void {
    if (!this.sure) return;
    if (verb === 'cancel' && answer === 'cancelled') this.mark(process, number, CANCELLED);
    if (verb === 'remove' && answer === 'removed') this.mark(process, number, REMOVED);
  }
}

function listOf<Item>(lists: Map<string, Item[]>, key: string, ...first: Item[]): Item[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = first));
  return list;
}
