// The ends of claims in numbers, which the server's counters are compared with.
import type { Settlement } from './history.js';
import { FINAL, PLANTED } from './marks.js';
import type { Reading } from './reading.js';
import { MAX_ATTEMPTS } from '../processes/workload.js';

/** A reply from before the loss of all data may be recorded this much later. */
const AFTER_LOSS_MS = 3_000;

/** A call that took this long may have been sent again by the client, after its connection was lost. */
const SENT_AGAIN_MS = 40;

/** The end of a dead letter, by the verb. */
const ENDS = { redrive: 'redriven', discard: 'discarded' } as const;

interface Begun {
  /** True if the server that exists at the end surely made the claim. */
  sure: boolean;
  attempt: number;
  /** The end of its handler, or `deserted` where none runs. */
  end?: 'ok' | 'thrown' | 'deserted';
}

/** Ends of one kind: those surely reported by the server that exists at the end, and those by any server. */
interface Told {
  surely: number;
  perhaps: number;
}

export class Ends {
  readonly retried: Told = { surely: 0, perhaps: 0 };
  readonly released: Told = { surely: 0, perhaps: 0 };
  readonly reclaimed: Told = { surely: 0, perhaps: 0 };
  readonly redriven: Told = { surely: 0, perhaps: 0 };
  readonly discarded: Told = { surely: 0, perhaps: 0 };
  /** Claims that were surely made, and whose job was started. */
  claims = 0;
  /** Claims without a sure end, which a sweep may have reclaimed. */
  unsettled = 0;
  /** Claims whose handler threw and whose settlement got no reply: retried or released. */
  thrown = 0;
  /**
   * Jobs that a stopping process had started without a sure end. It may have released them, even if their handler
   * returned.
   */
  unfinished = 0;
  /** Hashes that the run deleted. A sweep reclaims their claims without a fence. */
  deletedHashes = 0;
  private readonly begun = new Map<string, Begun>();
  private stopping = false;
  /** The time when the operator last asked for the end of a dead letter. */
  private askedMs = 0;

  constructor(private readonly reading: Reading) {}

  /** Called before the next file, and at the end. */
  begin(): void {
    for (const claim of this.begun.values()) this.remains(claim);
    this.begun.clear();
    this.stopping = false;
  }

  /** Called when the process is asked to end. */
  stop(): void {
    this.stopping = true;
  }

  /** @param claim names the job and the fence */
  start(claim: string, attempt = 1): void {
    if (this.reading.isLost) return;
    const { sure } = this;
    this.begun.set(claim, { sure, attempt });
    if (sure) this.claims++;
  }

  end(claim: string, end: NonNullable<Begun['end']>): void {
    const begun = this.begun.get(claim);
    if (begun) begun.end = end;
  }

  /** @param marks of the job */
  settled(what: Settlement, claim: string, marks = 0): void {
    if (this.reading.isLost) return;
    const begun = this.begun.get(claim);
    this.begun.delete(claim);
    const sure = this.sure && begun?.sure !== false;
    // The repeated fail of a dead letter that was redriven since returns `retry`.
    const mayBury = marks & (FINAL | PLANTED) || begun?.attempt === MAX_ATTEMPTS;
    if (what === 'retry') this.tell(this.retried, sure && !mayBury);
    if (what === 'released') this.tell(this.released, sure);
    if (!begun) return;
    if (what === 'lost') return this.remains(begun);
    if (!sure) this.unsettled++;
    // The job may have been retried or released and then ended while it waited. This reply may be to a repeat.
    if (what === 'cancelled' || (what === 'failed' && marks & PLANTED)) this.thrown++;
  }

  reclaim(): void {
    if (!this.reading.isLost) this.tell(this.reclaimed, this.sure);
  }

  /** Called when an operator asks for it, for one dead letter. */
  asked(verb: keyof typeof ENDS): void {
    if (!this.reading.isLost) this[ENDS[verb]].perhaps++;
    this.askedMs = this.reading.nowMs;
  }

  /** Takes a late answer for that of a repeated call. It redrives a job once more that has died since. */
  answered(verb: keyof typeof ENDS, count: number): void {
    const isSentAgain = this.reading.nowMs - this.askedMs >= SENT_AGAIN_MS;
    if (verb === 'redrive' && isSentAgain && !this.reading.isLost) this.redriven.perhaps++;
    if (!this.reading.isLost && this.sure) this[ENDS[verb]].surely += count;
  }

  private get sure(): boolean {
    return this.reading.sure && this.reading.nowMs > this.reading.lostAllMs + AFTER_LOSS_MS;
  }

  private tell(told: Told, sure: boolean): void {
    told.perhaps++;
    if (sure) told.surely++;
  }

  private remains({ end }: Begun): void {
    this.unsettled++;
    if (end === 'thrown') this.thrown++;
    else if (this.stopping && end !== 'deserted') this.unfinished++;
  }
}
