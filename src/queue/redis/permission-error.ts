import { RedisPermissionError } from '../errors/redis-permission-error.js';

/** What Redis says of a missing right, outside and inside of a script. */
const REFUSALS: [RegExp, (match: RegExpExecArray) => string][] = [
  [/^NOPERM.* run the '([^']+)' command/i, ([, command]) => `the command ${command!.toLowerCase()}`],
  [/^NOPERM.* one of the keys/i, () => "the queue's keys"],
  [/^NOPERM.* one of the channels/i, () => "the queue's channel"],
  [/^ERR The user executing the script can't run this command/, () => 'a command that a script runs'],
  [/^ERR The user executing the script can't access/, () => "the queue's keys, inside a script"],
  [/^ERR The user executing the script can't publish/, () => "publish to the queue's channel"],
];

/** The error itself, without a password, or a typed one where it is a refusal by the rights of the user. */
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
 * ioredis gives all that waited for a connection the error of its handshake, and with it the command that was refused:
 * `HELLO` or `AUTH`, whose arguments are the user and the password.
 */
function hideCredentials(error: Error & { command?: { name: string; args: unknown } }): void {
  if (/^(hello|auth)$/i.test(error.command?.name ?? '')) {
    delete error.command;
  }
}
