import { failedPayloads } from '../../queue/codec/failure-job.js';
import { TextRedaction, type Redact, type RedactedPart } from '../../queue/codec/redact.js';

/** A claim, as far as words about its job may quote it. */
interface QuotedClaim {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly payload: unknown;
  readonly checkpoint?: unknown;
}

/** What words about one job must not tell, in a queue with `redact`. */
export class JobTexts {
  private readonly payload = new TextRedaction();
  /** The texts of all other parts. No window knows them once the parts have changed. */
  private readonly others = new TextRedaction();
  private readonly job: RedactedPart['job'];
  /** The jobs of its call, whose payloads an error may quote too. */
  private peers: readonly JobTexts[] = [];

  constructor(
    private readonly redact: Redact,
    { id, name, queue, payload, checkpoint }: QuotedClaim,
  ) {
    this.job = { id, name, queue };
    this.knowPayload(payload);
    this.know('checkpoint', checkpoint);
  }

  /** Hides what `redact` hides of the payload, in each form that the handler gets. */
  knowPayload(payload: unknown): void {
    const about = { part: 'payload', job: this.job } as const;
    const all = failedPayloads(this.job.name, payload) ?? [payload];
    const known = all.filter((each) => each !== undefined);
    known.forEach((each) => this.payload.know(this.redact, each, about));
    if (known.length === 0) {
      this.payload.hideAll();
    }
  }

  know(part: Exclude<RedactedPart['part'], 'payload'>, value: unknown): void {
    this.others.know(this.redact, value, { part, job: this.job });
  }

  /** Hides all texts of the result of a step, which no window shows. */
  knowStep(result: unknown): void {
    this.others.knowAll(result);
  }

  shareErrors(jobs: readonly JobTexts[]): void {
    this.peers = jobs;
  }

  /** Returns what the stored words hide: all but the job's payload, which each window knows. */
  get stored(): TextRedaction {
    const stored = new TextRedaction().include(this.others);
    for (const peer of this.peers) {
      if (stored.hidesAll) break;
      if (peer !== this) stored.include(peer.payload).include(peer.others);
    }
    return stored;
  }

  /** Returns what is hidden in words for people. */
  get shown(): TextRedaction {
    return this.stored.include(this.payload);
  }
}
