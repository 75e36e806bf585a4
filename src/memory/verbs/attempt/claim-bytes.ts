import { isGiant } from '../../../queue/store/claim-refusal.js';
import type { Hash } from '../../state/memory-queue.js';

/** The payload bytes of one claim. Its first job comes in any case. */
export class ClaimBytes {
  /** True once a job was left because of its bytes. */
  isFull = false;
  private used = 0;
  private hasFirst = false;

  /** @param giant the size beyond which a payload is not loaded */
  constructor(
    private readonly most = Infinity,
    private readonly giant = Infinity,
  ) {}

  /** Adds the bytes of a job. Returns false if it must stay, and then every job after it. */
  takes(job: Hash | undefined): boolean {
    const { payload = '' } = job ?? {};
    this.used += isGiant(payload, this.giant) ? 0 : Buffer.byteLength(payload);
    this.isFull ||= this.used > this.most && this.hasFirst;
    this.hasFirst = true;
    return !this.isFull;
  }
}
