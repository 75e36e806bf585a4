// What the processes of a run write down: one append-only file each, one JSON array a line. A call stands in it before it
// is made and its answer after it came, so a process that was killed leaves a call without an answer: it may have happened.
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Look } from './look.js';

/** How an enqueue was answered. After `not-sent` and `refused` nothing was written; `unknown` is repeated with its id. */
export type EnqueueOutcome = 'new' | 'existing' | 'kept' | 'replaced' | 'not-sent' | 'refused' | 'unknown';

/** What a worker was told of the settlement of one attempt. */
export type Settlement = 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'lost';

export type Verb = 'cancel' | 'remove' | 'redrive' | 'discard' | 'reschedule';

/** What operators do to the queue, and to its schedules. */
export type Control =
  'pause' | 'resume' | 'upsert' | 'pause-schedule' | 'resume-schedule' | 'remove-schedule' | 'run-now';

/** A job is named by the process that enqueued it and its number there: what it is called before Redis knows of it. */
export type Entry =
  | ['process', process: number, role: string]
  /** The time of what follows, in ms of the machine's monotonic clock, which all processes share. */
  | ['time', ms: number]
  | ['enqueue', first: number, count: number]
  /** What is special about one of them. */
  | ['kind', number: number, kind: string, delayMs: number]
  /** All of them are new. */
  | ['enqueued', first: number, count: number]
  | ['answer', number: number, outcome: EnqueueOutcome, id: string]
  /** `id` only where several enqueues may share it. */
  | ['start', process: number, number: number, attempt: number, fence: number, id?: string]
  /** The handler returned; its result is about to be sent. */
  | ['ok', process: number, number: number, fence: number]
  /** The handler threw; what it comes to is about to be sent. */
  | ['end', process: number, number: number, fence: number]
  /** `start` and `ok` in one. */
  | ['ran', process: number, number: number, attempt: number, fence: number]
  | [Settlement, process: number, number: number, fence: number]
  /** An attempt of a recurring job; with its start, when its tick was made, by the server's clock. */
  | ['tick', what: 'start' | 'ok' | Settlement, id: string, fence: number, madeMs?: number]
  /** A claim, by its job and fence, that this process will never end. */
  | ['deserted', claim: string]
  /** A sweep of this process took back the claim of a job. */
  | ['reclaimed', id: string]
  /** The process was asked to end: what it runs it may give back from now on. */
  | ['stopping']
  | ['call', verb: Verb, process: number, number: number]
  | ['answered', verb: Verb, process: number, number: number, answer: string]
  /** `schedule` is '' for the queue itself. The answer to `run-now` is the id of the job. */
  | ['asks', control: Control, schedule: string]
  | ['told', control: Control, schedule: string, answer: string]
  | ['look', look: Look]
  /** The doctor is called beside the traffic; it has looked at so many jobs. */
  | ['audit']
  | ['audited', checked: number]
  /** A hash that the run deleted or broke on purpose. */
  | ['plant', what: string, process: number, number: number, id: string]
  /** Damage done on purpose that the doctor must find and mend: the job or the unique key that it will name. */
  | ['damage', what: string, subject: string]
  /** The damage could not be done. */
  | ['undamaged', subject: string]
  /** What the doctor found, and mended. */
  | ['mended', kind: string, subject: string, found: string]
  /** The data of the server are gone on purpose, and with them all jobs of these processes. */
  | ['forgotten', processes: number[]]
  /**
   * By `monotonicMs()`: between these the server acknowledged what it may have taken with it when another took its place.
   * What it had acknowledged before is on the other.
   */
  | ['window', fromMs: number, toMs: number]
  /** One call of a script that did much: how many arguments beside its keys it had, and how many commands it called. */
  | ['script', name: string, args: number, commands: number]
  /** One call of a script that took the server long, and when it ended, by `monotonicMs()`, to the second. */
  | ['slow', name: string, ms: number, atMs: number]
  | ['fault', kind: string]
  | ['healed', kind: string];

/** Ms of the machine's monotonic clock: the same in every process, whatever is done to its `Date`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export class HistoryWriter {
  private readonly file: number;
  private lines: string[] = [];
  private writing: Promise<void> | undefined;
  private closed = false;

  constructor(path: string, number: number, role: string) {
    this.file = openSync(path, 'a');
    this.add(['process', number, role]);
    this.flush();
  }

  /**
   * Notes an entry; it is in the file with the end of this turn of the event loop. What a deaf handler still does after its
   * worker gave its job back and stopped is nobody's.
   */
  add(entry: Entry): void {
    if (this.closed) {
      return;
    }
    this.lines.push(JSON.stringify(entry));
    this.writing ??= new Promise((resolve) => {
      setImmediate(() => {
        this.flush();
        resolve();
      });
    });
  }

  /** Resolves when all entries so far are in the file, where a SIGKILL does not reach them. */
  async written(): Promise<void> {
    await this.writing;
  }

  close(): void {
    this.flush();
    this.closed = true;
    closeSync(this.file);
  }

  private flush(): void {
    this.writing = undefined;
    if (this.lines.length > 0) {
      writeSync(this.file, `["time",${monotonicMs()}]\n${this.lines.join('\n')}\n`);
      this.lines = [];
    }
  }
}

/** Reads a file entry by entry. A last line that a killed process left torn is none. */
export async function readHistory(path: string, visit: (entry: Entry) => void): Promise<void> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    let entry: Entry;
    try {
      entry = JSON.parse(line) as Entry;
    } catch {
      continue;
    }
    visit(entry);
  }
}
