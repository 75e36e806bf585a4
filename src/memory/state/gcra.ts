// GCRA: a burst may start at once, then one job each interval. An arrival is the theoretical arrival time of a rate, in ms.
import type { RateLimit } from '../../queue/model/limits.js';

/** Returns how far a job of this cost moves the theoretical arrival time, in ms. */
export function costInMs(rate: RateLimit | undefined, cost: number): number {
  return rate ? (Math.min(cost, rate.burst ?? 1) * rate.periodMs) / rate.limit : 0;
}

/** Returns when a job of this cost may start. */
export function rateOpensAt(rate: RateLimit | undefined, arrival: number, cost = 1): number {
  if (!rate) {
    return 0;
  }
  const { limit, periodMs, burst = 1 } = rate;
  return Math.ceil(arrival + ((Math.min(cost, burst) - burst) * periodMs) / limit);
}

/** Returns an arrival that the clock of now can have made: this one, or the latest. Each payment may round it by 1 µs. */
export function boundArrival(rate: RateLimit | undefined, arrival: number, now: number): number {
  if (!rate) {
    return arrival;
  }
  const latest = now + costInMs(rate, Infinity);
  return arrival > latest + (rate.burst ?? 1) / 1_000 ? latest : arrival;
}

/** Returns the arrival after a job has started. */
export function paid(rate: RateLimit | undefined, arrival: number, cost: number, now: number): number {
  return rate ? Math.max(arrival, now) + costInMs(rate, cost) : arrival;
}

/** Returns how many jobs of cost 1 a rate lets start now. */
export function startsNow(rate: RateLimit | undefined, arrival: number, now: number): number {
  if (!rate) {
    return Infinity;
  }
  const intervalMs = rate.periodMs / rate.limit;
  const spentMs = Math.max(0, arrival - now);
  return Math.max(0, Math.floor((rate.burst ?? 1) - spentMs / intervalMs + 1e-6));
}
