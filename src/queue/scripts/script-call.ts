import type { ScriptArgument, ScriptCall, ScriptName } from '../transport/script-runner.js';

/** Puts together the call of one script. */
export function call<Answer>(
  script: ScriptName,
  keys: readonly string[],
  args: readonly ScriptArgument[],
  decode: (reply: unknown) => Answer,
): ScriptCall<Answer> {
  return { script, keys, args, decode };
}
