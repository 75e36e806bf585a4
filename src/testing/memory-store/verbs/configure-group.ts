import type { GroupLimits } from '../../../queue/model/limits.js';
import type { ScriptOptions } from '../../../queue/store/script-options.js';
import type { MemoryQueue } from '../state/memory-queue.js';

/**
 * Takes over the limits in code for the group of a job; see lua/lib/group/configure.lua.
 *
 * @param isStored whether it comes from a schedule or a follow-up; limits from an enqueue take precedence
 */
export function configureGroup(queue: MemoryQueue, options: ScriptOptions | undefined, isStored = false): void {
  if (options?.group === undefined || options.group_limits === undefined) {
    return;
  }
  const group = queue.flow.group(options.group);
  if (isStored && group.configured && !group.isStored) {
    return;
  }
  group.configured = options.group_limits === '' ? undefined : limitsIn(options.group_limits);
  group.isStored = isStored;
}

/** Reads the limits in the order of lua/group/set.lua; '' for none. */
function limitsIn(text: string): GroupLimits {
  const [maxRunning, limit, periodMs, burst, weight, maxPending, onDeadHead, maxPendingBytes] = JSON.parse(
    text,
  ) as string[];
  return {
    ...(maxRunning && { maxRunning: Number(maxRunning) }),
    ...(limit && { rateLimit: { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) } }),
    ...(weight && { weight: Number(weight) }),
    ...(maxPending && { maxPending: Number(maxPending) }),
    ...(onDeadHead && { onDeadHead: onDeadHead as 'skip' | 'hold' }),
    ...(maxPendingBytes && { maxPendingBytes: Number(maxPendingBytes) }),
  };
}
