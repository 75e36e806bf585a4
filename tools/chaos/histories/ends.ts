// What the histories say of how claims ended, in numbers: the counters of the server are held against them.
import type { Settlement } from './history.js';
import { FINAL, PLANTED } from './marks.js';
import type { Reading } from './reading.js';
import { MAX_ATTEMPTS } from '../processes/workload.js';

/** What a server answered before it lost all of its data may be written down so much later. */
const AFTER_LOSS_MS = 3_000;

/** What becomes of a dead letter, by the verb. */
const ENDS = { redrive: 'redriven', discard: 'discarded' } as const;

interface Begun {
  /** Whether the claim was surely made by the server that is there at the end. */
  sure: boolean;
  attempt: number;
  /** How its handler ended, once it has; or that it has none. */
  end?: 'ok' | 'thrown' | 'deserted';
}

/** Ends of one kind: how many were surely told by the server that is there at the end, and how many by any. */
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
  /** Claims that were surely made, of jobs that were begun. */
  claims = 0;
  /** Claims of which it was not surely told how they ended, so that they may have been taken back. */
  unsettled = 0;
  /** Those of them, and others, whose handler threw: they may have been retried, or released, and nobody was told. */
  thrown = 0;
  /**
   * What a process that was asked to end had begun, and was told nothing of: it may have given it back, also where its handler has
   * returned since.
   */
  unfinished = 0;
  /** Hashes that were taken away on purpose: to take back the claim of one needs no fence. */
  deletedHashes = 0;
  private readonly begun = new Map<string, Begun>();
  private stopping = false;

  constructor(private readonly reading: Reading) {}

  /** Another file begins, or there is none any more. */
  begin(): void {
    for (const claim of this.begun.values()) this.remains(claim);
    this.begun.clear();
    this.stopping = false;
  }

  /** The process is asked to end. */
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
    // Of a dead letter that was redriven meanwhile a repeat is told that it is retried.
    const mayBury = marks & (FINAL | PLANTED) || begun?.attempt === MAX_ATTEMPTS;
    if (what === 'retry') this.tell(this.retried, sure && !mayBury);
    if (what === 'released') this.tell(this.released, sure);
    if (!begun) return;
    if (what === 'lost') return this.remains(begun);
    if (!sure) this.unsettled++;
    // It may have been retried or released first, and ended so while it waited; then the answer is that to a repeat.
    if (what === 'cancelled' || (what === 'failed' && marks & PLANTED)) this.thrown++;
  }

  reclaim(): void {
    if (!this.reading.isLost) this.tell(this.reclaimed, this.sure);
  }

  /** An operator asks for it, of one dead letter. */
  asked(verb: keyof typeof ENDS): void {
    if (!this.reading.isLost) this[ENDS[verb]].perhaps++;
  }

  answered(verb: keyof typeof ENDS, count: number): void {
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
