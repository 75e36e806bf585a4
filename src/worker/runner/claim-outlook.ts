import type { ClaimReply } from '../../queue/store/store-calls.js';

/** The expectation of the next claim, from a runner's last claim. */
export class ClaimOutlook {
  private expectsJobs = true;
  private announced = true;
  private limited = false;
  private dueInMs: number | undefined;
  /** True if jobs wait for a slot of the queue or of their group. */
  private awaitsSlots = false;
  /** True if settlements that free such slots were sent since the last claim. */
  private freedSlots = false;
  /** True if a wake came since the last claim was sent. */
  private woken = false;
  private repliesSoFar = 0;
  private unheard = false;
  private replied: (() => void) | undefined;

  /** @param expected called when a claim may find something again */
  constructor(private readonly expected: () => void) {}

  /** True if a claim may find something: true until a claim returned too few jobs. */
  get mayHaveJobs(): boolean {
    return this.expectsJobs;
  }

  /** False while the store does not have the announcement of this queue. Then nothing is claimed. */
  get isAnnounced(): boolean {
    return this.announced;
  }

  /** True if the last claim met limits. Then no job is claimed ahead. */
  get isLimited(): boolean {
    return this.limited;
  }

  /** ms until the next scheduled job is due, or a limit lets the next one start. */
  get nextDueInMs(): number | undefined {
    return this.dueInMs;
  }

  /** True if a wake came since the last claim was sent. That claim may not have seen its job. */
  get isWoken(): boolean {
    return this.woken;
  }

  /** The number of replies of claims. */
  get replies(): number {
    return this.repliesSoFar;
  }

  /** True if no wake reached this worker when a claim found too little last. */
  get isUnheard(): boolean {
    return this.unheard;
  }

  /** Records a wake. A claim in flight may have missed its job, because the wake travels over another connection. */
  wake(): void {
    this.woken = true;
    this.expectJobs();
  }

  /** Records that jobs may have come since the last claim. */
  expectJobs(): void {
    this.expectsJobs = true;
    this.expected();
  }

  /** Records whether the store has the announcement of this queue. */
  setAnnounced(announced: boolean): void {
    this.announced = announced;
  }

  /** Records that a claim is sent, which finds all jobs, and all slots that were freed, before it. */
  claims(): void {
    this.freedSlots = false;
    this.woken = false;
  }

  /** Evaluates the reply of a claim. `asked` slots were reserved for its claim. */
  learn(reply: ClaimReply, asked: number): void {
    const found = reply.jobs.length + reply.refused.length;
    this.dueInMs = reply.nextDueInMs;
    this.limited = reply.isLimited;
    this.awaitsSlots = reply.awaitsSlots;
    this.repliesSoFar++;
    if (found < asked && !reply.isFull) {
      this.unheard = reply.isUnheard === true;
    }
    this.expectsJobs = false;
    if (this.woken || reply.isFull || found >= asked || (reply.awaitsSlots && this.freedSlots)) {
      this.expectJobs();
    }
    this.replied?.();
  }

  /** Calls a listener after each reply of a claim. It replaces the listener before. */
  onReply(replied: () => void): void {
    this.replied = replied;
  }

  /** Records that settlements are sent. A slot that they free for a waiting job is claimed at once. */
  settles(count: number): void {
    if (count > 0 && this.limited) {
      this.freedSlots = true;
      if (this.awaitsSlots) {
        this.expectJobs();
      }
    }
  }
}
