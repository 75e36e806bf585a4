// Writes the history of a process: an append-only file with one JSON array a line. A call is recorded before it is
// made, and its reply after it came. A killed process leaves a call without a reply, which may have run.
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { monotonicMs } from './clock.js';
import type { Look } from './look.js';

/** The outcome of an enqueue. After `not-sent` and `refused` nothing was written; `unknown` is repeated with its id. */
export type EnqueueOutcome = 'new' | 'existing' | 'kept' | 'replaced' | 'not-sent' | 'refused' | 'unknown';

/** The reply to the settlement of an attempt. */
export type Settlement = 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'lost';

export type Verb = 'cancel' | 'remove' | 'redrive' | 'discard' | 'reschedule';

/** Operators' calls on the queue and its schedules. */
export type Control =
  | 'pause'
  | 'resume'
  | 'upsert'
  | 'pause-schedule'
  | 'resume-schedule'
  | 'remove-schedule'
  | 'run-now';

/** A job is named by its producer's process and a number, which exist before its id in Redis. */
export type Entry =
  | ['process', process: number, role: string]
  /** The time of what follows, in ms of the machine's monotonic clock, which all processes share. */
  | ['time', ms: number]
  | ['enqueue', first: number, count: number]
  /** A special property of one of them. */
  | ['kind', number: number, kind: string, delayMs: number]
  /** All of these jobs were new. */
  | ['enqueued', first: number, count: number]
  | ['answer', number: number, outcome: EnqueueOutcome, id: string]
  /** `id` only where several enqueues may share it. */
  | ['start', process: number, number: number, attempt: number, fence: number, id?: string]
  /** The handler returned; its result is about to be sent. */
  | ['ok', process: number, number: number, fence: number]
  /** The handler threw, and its settlement is about to be sent. */
  | ['end', process: number, number: number, fence: number]
  /** `start` and `ok` in one. */
  | ['ran', process: number, number: number, attempt: number, fence: number]
  | [Settlement, process: number, number: number, fence: number]
  /** An attempt of a recurring job; with its start, when its tick was made, by the server's clock. */
  | ['tick', what: 'start' | 'ok' | Settlement, id: string, fence: number, madeMs?: number]
  /** A claim, by its job and fence, that this process will never end. */
  | ['deserted', claim: string]
  /** The result of a job's step, as an attempt got it: the fence of the claim that recorded it. */
  | ['step', process: number, number: number, recorded: number]
  /** A handler of a queue that shares a limit ran between these instants of `monotonicMs()`. */
  | ['ran-shared', fromMs: number, toMs: number, key: string]
  /** A running member has added this job to its batch. */
  | ['grown', process: number, number: number]
  /** A sweep of this process took back the claim of a job. */
  | ['reclaimed', id: string]
  /** The process is stopping, so it may release its jobs from now on. */
  | ['stopping']
  | ['call', verb: Verb, process: number, number: number]
  | ['answered', verb: Verb, process: number, number: number, answer: string]
  /** `schedule` is '' for the queue itself. The answer to `run-now` is the id of the job. */
  | ['asks', control: Control, schedule: string]
  | ['told', control: Control, schedule: string, answer: string]
  | ['look', look: Look]
  /** The doctor audits beside the traffic, and has looked at this many jobs. */
  | ['audit']
  | ['audited', checked: number]
  /** The run deleted or broke a hash. */
  | ['plant', what: string, process: number, number: number, id: string]
  /** Planted damage that the doctor must find and repair, by the job or the unique key concerned. */
  | ['damage', what: string, subject: string]
  /** The damage could not be done. */
  | ['undamaged', subject: string]
  /** A finding that the doctor repaired. */
  | ['repaired', kind: string, subject: string, found: string]
  /** The data of the server are gone on purpose, and with them all jobs of these processes. */
  | ['forgotten', processes: number[]]
  /**
   * Acknowledgements between these instants of `monotonicMs()` may have been lost in a failover. Earlier
   * acknowledgements are on the new master.
   */
  | ['window', fromMs: number, toMs: number]
  /** A large call of a script: its arguments besides the keys, and the commands that it called. */
  | ['script', name: string, args: number, commands: number]
  /** A slow call of a script, with its duration and its end by `monotonicMs()`, to the second. */
  | ['slow', name: string, ms: number, atMs: number]
  | ['fault', kind: string]
  | ['healed', kind: string];

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
   * Records an entry, which is in the file at the end of this turn of the event loop. Ignores a deaf handler that
   * continues after its worker released its job and stopped.
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

/** Reads a file entry by entry. Ignores a last line that a killed process left incomplete. */
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
