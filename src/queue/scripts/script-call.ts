import type { Announced } from '../codec/announced-content.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { ScriptArgument, ScriptCall, ScriptName } from '../transport/script-runner.js';
import type { QueueKeys } from './queue-keys.js';

/** The data that every call of a queue is built from. */
export interface CallContext {
  readonly keys: QueueKeys;
  readonly options: ResolvedQueueOptions;
  /** When events are published, and whether with results; see lua/lib/core/listened.lua. */
  readonly published: string;
  /** When an event reports each new job; 'off' for never. */
  readonly enqueuesPublished: ResolvedQueueOptions['events'];
  /** What the last reading found announced of the queue. */
  readonly announced: Announced;
  /** The first arguments of each script that ends jobs. */
  readonly retention: readonly ScriptArgument[];
}

/** Puts together the call of one script. */
export function call<Reply>(
  script: ScriptName,
  keys: readonly string[],
  args: readonly ScriptArgument[],
  decode: (reply: unknown) => Reply,
): ScriptCall<Reply> {
  return { script, keys, args, decode };
}
