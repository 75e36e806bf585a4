import type { AskedOptions } from '../../queue/store/asked-options.js';
import { storedGroupLimits } from './stored-limits.js';
import type { MemoryQueue } from '../state/memory-queue.js';

/**
 * Takes over the limits in code for the group of a job; see lua/lib/group/configure.lua.
 *
 * @param isStored whether it comes from a schedule or a follow-up; limits from an enqueue take precedence
 */
export function configureGroup(queue: MemoryQueue, options: AskedOptions | undefined, isStored = false): void {
  if (options?.group === undefined || options.groupLimits === undefined) {
    return;
  }
  const group = queue.flow.group(options.group);
  if (isStored && group.configured && !group.isStored) {
    return;
  }
  group.configured = options.groupLimits ? storedGroupLimits(options.groupLimits) : undefined;
  group.isStored = isStored;
}
