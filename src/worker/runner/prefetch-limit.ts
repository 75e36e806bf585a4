import type { Clock } from '../../queue/runtime/clock.js';

/** The time in which a prefetched job must start by default, in ms, at the recent completion rate. */
const BEGINS_WITHIN_MS = 7;

/** The shortest time between two measures of the completion rate, in ms. */
const MEASURES_APART_MS = 5;

/** The number of jobs of one claim that a worker prefetches by default, so that a trip brings several. */
const JOBS_OF_A_TRIP = 10;

/**
 * The number of jobs in this process at which a claim is large enough, running ones included. Slots whose handlers end
 * at once need no more. The others prefetch what starts while the next jobs are on their way.
 */
const JOBS_OF_A_LARGE_TRIP = 100;

/** The running time below which handlers end at once, in ms. They are limited by the CPU, and not by their slots. */
const INSTANT_MS = 0.25;

/** The weight of the latest value in a moving average. */
const LATEST_WEIGHT = 0.1;

/** The longest time without a measure of the completion rate, in ms. */
const MEASURED_AFTER_MS = 50;

/** Bounds of a pause of prefetching, in ms. It doubles each time, because if one job is long, another soon will be. */
const SHORTEST_COOLDOWN_MS = 1_000;
const LONGEST_COOLDOWN_MS = 16_000;

/**
 * How many jobs may be prefetched for some slots: those of a queue, or of all queues of a process. The number follows the
 * recent completion rate, so slow jobs are never prefetched.
 */
export class PrefetchLimit {
  private most = 0;
  private ended = 0;
  private paceBefore = 0;
  private measuredAt = -Infinity;
  private restsUntil = -Infinity;
  private cooldownMs = SHORTEST_COOLDOWN_MS;
  /** The moving average of a claim's round trip, in ms. */
  private tripMs = 0;
  /** The moving average of a handler's running time, in ms. */
  private runMs = 0;

  constructor(
    private concurrency: number,
    private readonly clock: Clock,
  ) {}

  setConcurrency(concurrency: number): void {
    this.concurrency = concurrency;
  }

  /** How many jobs may be prefetched now. */
  get room(): number {
    return this.most;
  }

  /**
   * The fewest jobs worth a claim while no slot is free. Half of the room, so that a claim brings several jobs, and the
   * other half covers its trip.
   */
  get leastPerClaim(): number {
    return Math.ceil(this.most / 2);
  }

  /** @param ranMs how long its handler ran */
  jobEnded(ranMs: number): void {
    this.ended++;
    this.runMs += LATEST_WEIGHT * (ranMs - this.runMs);
  }

  /** Learns how long the round trip of a claim took. */
  tripEnded(tookMs: number): void {
    this.tripMs += LATEST_WEIGHT * (tookMs - this.tripMs);
  }

  /**
   * Sets the room from the jobs that ended since the last measure. It measures once every slot had a turn, or after a
   * while. The lower of two rates counts: long jobs that started together also end together.
   *
   * @param now in ms
   */
  measure(now: number): void {
    const elapsed = now - this.measuredAt;
    if (elapsed < MEASURES_APART_MS || (this.ended < this.concurrency && elapsed < MEASURED_AFTER_MS)) {
      return;
    }
    const pace = now < this.restsUntil ? 0 : this.ended / elapsed;
    this.most = this.roomAt(Math.min(pace, this.paceBefore));
    this.paceBefore = pace;
    this.ended = 0;
    this.measuredAt = now;
  }

  /** Allows nothing until the next measure. */
  stop(): void {
    this.most = 0;
  }

  /** Allows nothing for a while. The pause is short again once the last one is long over. */
  rest(): void {
    const now = this.clock.monotonic();
    this.stop();
    if (now < this.restsUntil) {
      return;
    }
    const isRepeated = now - this.restsUntil < LONGEST_COOLDOWN_MS;
    this.cooldownMs = isRepeated ? Math.min(2 * this.cooldownMs, LONGEST_COOLDOWN_MS) : SHORTEST_COOLDOWN_MS;
    this.restsUntil = now + this.cooldownMs;
  }

  /**
   * Returns how many jobs to hold at a rate. They are what ends while a claim and a settlement travel, or enough for one
   * trip. In any case no more than starts within a few ms.
   *
   * @param pace jobs per ms
   */
  private roomAt(pace: number): number {
    const startsSoon = Math.floor(pace * BEGINS_WITHIN_MS);
    const endsMeanwhile = Math.ceil(pace * 2 * this.tripMs);
    const most = this.runMs < INSTANT_MS ? Math.max(0, JOBS_OF_A_LARGE_TRIP - this.concurrency) : Infinity;
    return Math.min(startsSoon, Math.max(JOBS_OF_A_TRIP, endsMeanwhile), most);
  }
}
