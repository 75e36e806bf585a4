import { decodeGroupLimits } from '../../../queue/replies/decode-limits.js';
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
  const values = options.group_limits === '' ? undefined : (JSON.parse(options.group_limits) as string[]);
  group.configured = values && decodeGroupLimits([...values.slice(0, 7), '', ...values.slice(7)]);
  group.isStored = isStored;
}
