import type { GroupStats } from '../../model/group.js';
import type { GroupLimits } from '../../model/limits.js';
import type { CleanReply } from '../call-outcomes.js';
import type { StoreCall } from '../store-call.js';
import type { PauseOptions } from '../../model/pause.js';

/** The groups of a queue. */
export interface GroupVerbs {
  /** Returns one page of the groups. */
  list(page: { by: 'depth' | 'age'; offset: number; limit: number }): StoreCall<GroupStats[]>;
  /** Returns one entry for each name, even without jobs. */
  named(names: readonly string[]): StoreCall<GroupStats[]>;
  set(name: string, limits: GroupLimits): StoreCall<void>;
  clear(name: string): StoreCall<void>;
  /** Returns whether it was not paused before. */
  pause(name: string, options: PauseOptions): StoreCall<boolean>;
  /** Gives a pause with this end a later one. Returns false if the pause has another end, or none. */
  extendPause(name: string, knownEndMs: number, forMs: number): StoreCall<boolean>;
  /** Returns whether it was paused. */
  resume(name: string): StoreCall<boolean>;
  /** @param passed how many to pass over, as the last call returned */
  clean(name: string, olderThanMs: number, limit: number, passed: number): StoreCall<CleanReply>;
}
