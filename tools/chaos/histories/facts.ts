// The facts in the histories, by job.
import { Attempts } from './attempts.js';
import { Ends } from './ends.js';
import type { Entry, EnqueueOutcome, Settlement, Verb } from './history.js';
import type { Jobs } from './jobs.js';
import {
  ADDED,
  CANCELLED,
  CANCEL_ASKED,
  DISCARD_ASKED,
  DISCARDED,
  FAILS,
  FINAL,
  LATER,
  NOT_ADDED,
  OPEN,
  PLANTED,
  PRIORITY,
  REDRIVEN,
  REMOVED,
  REMOVE_ASKED,
  REPLACED,
  RESCHEDULED,
  UNSURE,
} from './marks.js';
import { Operations } from './operations.js';
import { Reading } from './reading.js';
import { Remarks } from './remarks.js';
import { Steps } from './steps.js';
import { Ticks } from './ticks.js';

/** The kinds whose attempts may fail: on purpose, or because a call to Redis does. */
const CALLS_OR_FAILS = new Set(['fatal', 'progress', 'steps', 'grows']);

/** Takes the entries of all files, file by file; that of the runner first, then those of producers. */
export class Facts {
  private readonly reading = new Reading();
  readonly jobs: ReadonlyMap<number, Jobs> = this.reading.jobs;
  readonly attempts = new Attempts(this.reading);
  readonly ends = new Ends(this.reading);
  readonly operations = new Operations(this.reading);
  readonly ticks = new Ticks();
  readonly steps = new Steps(this.reading);
  /** Jobs by the id that several enqueues share. */
  readonly sharers = new Map<string, Set<string>>();
  readonly plantedIds = new Set<string>();
  /** Times at which a producer could not get its next jobs acknowledged. */
  readonly unacknowledged: { fromMs: number; toMs: number }[] = [];
  readonly remarks = new Remarks();
  /** The processes that enqueue batches to the queue with limits and groups. */
  readonly flow = new Set<number>();
  /** The processes that enqueue to the queues which share a limit. */
  readonly sharing = new Set<number>();
  /** The processes that enqueue to the queue with shards. */
  readonly spread = new Set<number>();
  /** The times of handlers of the queues which share a limit. */
  readonly ranShared: { fromMs: number; toMs: number; key: string }[] = [];
  private tryingSinceMs: number | undefined;

  readonly add = (entry: Entry): void => {
    switch (entry[0]) {
      case 'process':
        this.reading.process = entry[1];
        this.tryingSinceMs = undefined;
        this.operations.begin();
        this.ends.begin();
        if (entry[2] === 'fifo-producer') this.attempts.first.set(entry[1], []);
        if (entry[2] === 'flow-producer') this.flow.add(entry[1]);
        if (entry[2] === 'shared-producer') this.sharing.add(entry[1]);
        if (entry[2] === 'spread-producer') this.spread.add(entry[1]);
        return;
      case 'time':
        this.reading.nowMs = entry[1];
        return;
      case 'enqueue':
        this.tryingSinceMs ??= this.reading.nowMs;
        return this.reading.of(this.reading.process, entry[1] + entry[2] - 1, (jobs) => {
          jobs.state.fill(OPEN, entry[1], entry[1] + entry[2]);
        });
      case 'kind':
        return this.kind(entry[1], entry[2], entry[3]);
      case 'enqueued':
        if (this.tryingSinceMs !== undefined)
          this.unacknowledged.push({ fromMs: this.tryingSinceMs, toMs: this.reading.nowMs });
        this.tryingSinceMs = undefined;
        return this.added(entry[1], entry[2]);
      case 'answer':
        return this.answer(entry[1], entry[2], entry[3]);
      case 'start':
        if (entry[5] !== undefined) this.share(entry[5], entry[1], entry[2]);
        return this.start(entry[1], entry[2], entry[3], entry[4]);
      case 'ok':
        return this.ok(entry[1], entry[2], entry[3]);
      case 'end':
        this.ends.end(`${entry[1]}:${entry[2]}:${entry[3]}`, 'thrown');
        return this.attempts.end(entry[1], entry[2], entry[3]);
      case 'ran':
        this.start(entry[1], entry[2], entry[3], entry[4]);
        return this.ok(entry[1], entry[2], entry[4]);
      case 'tick':
        return this.tick(entry[1], entry[2], entry[3], entry[4]);
      case 'step':
        return this.steps.add(entry[1], entry[2], entry[3]);
      case 'ran-shared':
        this.ranShared.push({ fromMs: entry[1], toMs: entry[2], key: entry[3] });
        return;
      case 'grown':
        return this.grown(entry[1], entry[2]);
      case 'deserted':
        return this.ends.end(entry[1], 'deserted');
      case 'reclaimed':
        return this.ends.reclaim();
      case 'stopping':
        return this.ends.stop();
      case 'asks':
      case 'told':
      case 'look':
      case 'audit':
      case 'audited':
        return this.operations.add(entry);
      case 'call':
        return this.call(entry[1], entry[2], entry[3]);
      case 'answered':
        return this.answered(entry[1], entry[2], entry[3], entry[4]);
      case 'plant':
        this.plantedIds.add(entry[4]);
        if (entry[1] === 'deleted' || entry[1] === 'another type') this.ends.deletedHashes++;
        return this.reading.mark(entry[2], entry[3], PLANTED);
      case 'forgotten':
        this.reading.lostAllMs = this.reading.nowMs;
        entry[1].forEach((process) => this.reading.of(process, 0, (jobs) => (jobs.forgotten = true)));
        return;
      case 'window':
        return this.reading.doubt(entry[1], entry[2]);
      case 'damage':
      case 'undamaged':
      case 'repaired':
      case 'script':
      case 'slow':
      case 'fault':
      case 'healed':
        return this.remarks.add(entry, this.reading.nowMs);
      default:
        return this.settled(...entry);
    }
  };

  /** Ends the reading. */
  finish(): void {
    this.attempts.finish();
    this.ends.begin();
    // A worker takes a job with a broken payload for a recurring one.
    for (const id of this.plantedIds) this.ticks.all.delete(id);
  }

  /** True if a server lost all of its data. */
  get forgot(): boolean {
    return this.reading.lostAllMs > -Infinity;
  }

  /** Returns whether a server may have lost an acknowledged write between these two instants. */
  mayForget(sinceMs: number, untilMs: number): boolean {
    return this.reading.mayForget(sinceMs, untilMs);
  }

  private start(process: number, number: number, attempt: number, fence: number): void {
    // The ordered and the limited jobs have queues of their own, which nobody pauses. So have those with shards.
    const others = [this.attempts.first, this.flow, this.sharing, this.spread];
    if (!others.some((each) => each.has(process))) this.operations.claim(`job ${process}:${number}`, fence);
    this.attempts.start(process, number, attempt, fence);
    this.ends.start(`${process}:${number}:${fence}`, attempt);
  }

  private ok(process: number, number: number, fence: number): void {
    this.attempts.ok(process, number, fence);
    this.ends.end(`${process}:${number}:${fence}`, 'ok');
  }

  private settled(what: Settlement, process: number, number: number, fence: number): void {
    this.attempts.settled(what, process, number, fence);
    this.reading.of(process, number, ({ marks }) =>
      this.ends.settled(what, `${process}:${number}:${fence}`, marks[number]),
    );
  }

  private tick(what: 'start' | 'ok' | Settlement, id: string, fence: number, madeMs?: number): void {
    this.ticks.add(what, id, fence, this.reading.sure, madeMs);
    if (what === 'start') {
      this.operations.claim(id, fence);
      this.ends.start(`${id}:${fence}`);
    } else if (what === 'ok') {
      this.ends.end(`${id}:${fence}`, 'ok');
    } else {
      this.ends.settled(what, `${id}:${fence}`);
    }
  }

  private added(first: number, count: number): void {
    const { sure } = this.reading;
    this.reading.of(this.reading.process, first, ({ state }) =>
      state.fill(sure ? ADDED : OPEN, first, first + count),
    );
    if (sure) return;
    for (let number = first; number < first + count; number++)
      this.reading.mark(this.reading.process, number, UNSURE);
  }

  /** Notes that a member was added by another one. The files of producers are read before. */
  private grown(process: number, number: number): void {
    this.reading.of(process, number, ({ state }) => {
      if (this.reading.sure && state[number] === OPEN) state[number] = ADDED;
    });
  }

  private kind(number: number, kind: string, delayMs: number): void {
    if (kind === 'final') this.reading.mark(this.reading.process, number, FINAL);
    if (CALLS_OR_FAILS.has(kind)) this.reading.mark(this.reading.process, number, FAILS);
    if (kind === 'priority') this.reading.mark(this.reading.process, number, PRIORITY);
    if (kind === 'later') this.reading.mark(this.reading.process, number, LATER);
    else if (delayMs > 0)
      this.attempts.dueMs.set(`${this.reading.process}:${number}`, this.reading.nowMs + delayMs);
  }

  private answer(number: number, outcome: EnqueueOutcome, id: string): void {
    if (outcome === 'unknown') {
      this.reading.of(this.reading.process, number, ({ state }) => (state[number] = OPEN));
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
    if (states[outcome] !== NOT_ADDED && !this.reading.sure) this.added(number, 1);
    else this.reading.of(this.reading.process, number, ({ state }) => (state[number] = states[outcome]));
    if (states[outcome] !== NOT_ADDED && id !== '') this.share(id, this.reading.process, number);
  }

  private share(id: string, process: number, number: number): void {
    let sharers = this.sharers.get(id);
    if (!sharers) this.sharers.set(id, (sharers = new Set()));
    sharers.add(`${process}:${number}`);
  }

  private call(verb: Verb, process: number, number: number): void {
    const marks = {
      cancel: CANCEL_ASKED,
      remove: REMOVE_ASKED,
      redrive: REDRIVEN,
      discard: DISCARD_ASKED,
      reschedule: RESCHEDULED,
    };
    this.reading.mark(process, number, marks[verb]);
    if (verb === 'redrive' || verb === 'discard') this.ends.asked(verb);
  }

  private answered(verb: Verb, process: number, number: number, answer: string): void {
    if (verb === 'redrive' || verb === 'discard') this.ends.answered(verb, Number(answer));
    if (!this.reading.sure) return;
    if (verb === 'cancel' && answer === 'cancelled') this.reading.mark(process, number, CANCELLED);
    if (verb === 'remove' && answer === 'removed') this.reading.mark(process, number, REMOVED);
    if (verb === 'discard' && answer === '1') this.reading.mark(process, number, DISCARDED);
  }
}
