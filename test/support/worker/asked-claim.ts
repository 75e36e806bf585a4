import type { ClaimInFlight, ClaimStream } from '#worker/runner/claims.js';

/** Returns a claim that is asked for now, whose jobs start at once. */
export function askedClaim(stream: ClaimStream, count: number): Omit<ClaimInFlight, 'token'> {
  return { worker: 'w', stream, count, atOnce: count, askedAtMs: performance.now() };
}
