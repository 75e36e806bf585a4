import type { Redis } from 'ioredis';
import { explainState, RedisPermissionError } from '../errors/redis-errors.js';
import { addressOf } from './address.js';
import { type RedisClient, isCluster } from './redis-client.js';

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

type Forward = (error: Error) => void;

/**
 * Forwards the errors of a new client, including those after the first of a socket. If a certificate is refused, a TLS
 * alert may arrive after Node has abandoned the socket. The client listens to each socket only once
 * (redis/ioredis#961), and an unhandled error ends the process. Connections that ioredis does not expose are left out.
 * ioredis uses them to discover a Cluster's slots or Sentinel's master.
 */
export function forwardErrors(client: RedisClient, forward: Forward): void {
  client.on('error', forward);
  if (isCluster(client)) {
    client.on('+node', (node: Redis) => forwardLateErrors(node, forward));
  } else {
    forwardLateErrors(client, forward);
  }
}

/** Forwards errors after the first, which ioredis emits itself. */
function forwardLateErrors(client: Redis, forward: Forward): void {
  let watched: unknown;
  let known: Error | undefined;
  client.on('error', (error: Error) => {
    known = error;
    const stream = client.stream as Redis['stream'] | undefined; // absent before the first attempt to connect
    if (stream && stream !== watched) {
      watched = stream;
      stream.on('error', (late) => late !== known && forward(late));
    }
  });
}

/** Returns an error's text, because an error of a connection to several addresses has an empty message. */
export function errorText(error: Error): string {
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
