import type { Hash } from '../../state/memory-queue.js';

/** The payload bytes of one claim. Its first job comes in any case. */
export class ClaimBytes {
  /** True once a job was left because of its bytes. */
  isFull = false;
  private used = 0;
  private hasFirst = false;

  constructor(private readonly most = Infinity) {}

  /** Adds the bytes of a job. Returns false if it must stay, and then every job after it. */
  takes(job: Hash | undefined): boolean {
    this.used += Buffer.byteLength(job?.payload ?? '');
    this.isFull ||= this.used > this.most && this.hasFirst;
    this.hasFirst = true;
    return !this.isFull;
  }
}
