import { duration } from '../../inspect/words.js';
import type { LimitsInForce } from '../../queue/store/store-calls.js';

/** Says the limits of a queue in words; null where it has none. */
export function limitsInWords({ maxRunning, rateLimit, source }: LimitsInForce): string | null {
  const parts = [
    ...(maxRunning === undefined ? [] : [`at most ${maxRunning} run at once`]),
    ...(rateLimit ? [`${rateLimit.limit} start in ${duration(rateLimit.periodMs)}`] : []),
  ];
  return parts.length === 0 ? null : `${parts.join(', ')}${source === 'set' ? ', set at run time' : ''}`;
}
