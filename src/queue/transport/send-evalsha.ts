import { Cluster, Command, Redis } from 'ioredis';
import type { RedisClient } from '../redis/redis-client.js';

/**
 * Sends a call of a script whose arguments are text. A client of our copy of ioredis gets a command that is made here.
 * ioredis' own method searches all arguments for lists (`Array.flat`, 60 ns each), 7 to 10 % of what a job costs Node.
 * Such a command does not wait for an automatic pipeline. A replaced method `evalsha` is not called; `sendCommand` is.
 */
export function sendEvalsha(client: RedisClient, verb: 'eval' | 'evalsha', args: string[]): Promise<unknown> {
  if (!isOfOurCopy(client)) {
    const [script, keyCount, ...rest] = args as [string, string, ...string[]];
    return client[verb](script, keyCount, ...rest);
  }
  const errorStack = client.options.showFriendlyErrorStack ? new Error() : undefined;
  const command = new Command(verb, [], { replyEncoding: 'utf8', errorStack });
  command.args = args;
  return client.sendCommand(command) as Promise<unknown>;
}

/** Returns whether the calls of a tick are sent after it: by a client of another copy that makes pipelines by itself. */
export function isAutoPipelinedForeignClient(client: RedisClient): boolean {
  return client.options.enableAutoPipelining === true && !isOfOurCopy(client);
}

/** Of another copy the commands may be others. */
function isOfOurCopy(client: RedisClient): boolean {
  return client instanceof Redis || client instanceof Cluster;
}
