import type { LimitsInForce } from '../store/store-calls.js';

export type LimitsReply = [now: string, ...values: (string | null)[]];

/** Decodes the reply of `lua/queue/get-limits.lua`. */
export function decodeLimits(reply: LimitsReply): LimitsInForce {
  const [now, owner, maxRunning, limit, periodMs, burst, tatUs, restsUntil] = reply;
  const limits: LimitsInForce = { source: sourceOf(owner) };
  if (maxRunning) {
    limits.maxRunning = Number(maxRunning);
  }
  if (limit) {
    limits.rateLimit = { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) };
    const interval = (Number(periodMs) * 1_000) / Number(limit);
    const nextMs = (Number(tatUs ?? 0) - (Number(burst) - 1) * interval) / 1_000;
    if (nextMs > Number(now)) {
      limits.nextStartAt = new Date(Math.ceil(nextMs));
    }
  }
  if (Number(restsUntil ?? 0) > Number(now)) {
    limits.restsUntil = new Date(Number(restsUntil));
  }
  return limits;
}

function sourceOf(owner: string | null | undefined): LimitsInForce['source'] {
  if (!owner) {
    return 'none';
  }
  return owner === 'set' ? 'set' : 'configuration';
}
