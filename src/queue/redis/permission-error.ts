import { explainState, RedisPermissionError } from '../errors/redis-errors.js';
import { addressOf } from './address.js';
import type { RedisClient } from './redis-client.js';

const IN_SCRIPT = 'a command that a script runs';

/** The messages for a missing permission, outside and inside of a script. Those of Redis 7.2 and later, and of Valkey, come first. */
const REFUSALS: [RegExp, (match: RegExpExecArray) => string][] = [
  [
    /^(?:ERR|NOPERM) ACL failure in script: .* run the '([^']+)' command/,
    ([, command]) => `${IN_SCRIPT}: ${command!}`,
  ],
  [/^(?:ERR|NOPERM) ACL failure in script: .* a key/, () => "the queue's keys, inside a script"],
  [/^(?:ERR|NOPERM) ACL failure in script: .* a channel/, () => "publish to the queue's channel"],
  [/^NOPERM.* run the '([^']+)' command/i, ([, command]) => `the command ${command!.toLowerCase()}`],
  [/^NOPERM.* (?:a key|one of the keys)/i, () => "the queue's keys"],
  [/^NOPERM.* (?:a channel|one of the channels)/i, () => "the queue's channel"],
  [/^ERR The user executing the script can't run this command/, () => IN_SCRIPT],
  [/^ERR The user executing the script can't access/, () => "the queue's keys, inside a script"],
  [/^ERR The user executing the script can't publish/, () => "publish to the queue's channel"],
];

/** Returns the error of a call for its caller. It is typed for a missing permission, and for a refusal by Redis' state. */
export function explainForCaller(error: unknown, client: RedisClient): unknown {
  const explained = explainRefusal(error);
  return explained === error ? explainState(error, `Redis at ${addressOf(client)}`) : explained;
}

/** Returns the error without a password, or a typed error for a missing permission. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ReplyError') {
    return error;
  }
  hideCredentials(error);
  for (const [pattern, words] of REFUSALS) {
    const match = pattern.exec(error.message);
    if (match) {
      return new RedisPermissionError([words(match)], { cause: error });
    }
  }
  return error;
}

/**
 * Removes the credentials from an error. All waiting calls are rejected with the handshake's error. It holds the
 * refused command: `HELLO` or `AUTH` with the user and the password.
 */
function hideCredentials(error: Error & { command?: { name: string; args: unknown } }): void {
  if (/^(hello|auth)$/i.test(error.command?.name ?? '')) {
    delete error.command;
  }
}
