import type { ClaimReply } from '../../queue/store/store-calls.js';

/** The expectation of the next claim, from a runner's last claim. */
export class ClaimOutlook {
  /** True if a claim may find something: true until a claim returned too few jobs. */
  mayHaveJobs = true;
  /** False while the store does not have the announcement of this queue. Then nothing is claimed. */
  isAnnounced = true;
  /** True if the queue has limits. */
  isLimited = false;
  /** ms until the next scheduled job is due, or a limit lets the next one start. */
  nextDueInMs: number | undefined;
  /** True if jobs wait for a slot of the queue or of their group. */
  private awaitsSlots = false;
  /** True if settlements that free such slots were sent since the last claim. */
  private freedSlots = false;

  /** Records that a claim is sent, which finds all slots that were freed before it. */
  claims(): void {
    this.freedSlots = false;
  }

  /** Evaluates the reply of a claim. `asked` slots were reserved for its claim. */
  learn(reply: ClaimReply, asked: number): void {
    const found = reply.jobs.length + reply.refused.length;
    this.nextDueInMs = reply.nextDueInMs;
    this.isLimited = reply.isLimited;
    this.awaitsSlots = reply.awaitsSlots;
    this.mayHaveJobs = reply.isFull || found >= asked || (reply.awaitsSlots && this.freedSlots);
  }

  /** Records that settlements are sent. A slot that they free for a waiting job is claimed at once. */
  settles(count: number): void {
    if (count > 0 && this.isLimited) {
      this.freedSlots = true;
      this.mayHaveJobs ||= this.awaitsSlots;
    }
  }
}
