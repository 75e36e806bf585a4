import { Cluster, Command, Redis } from 'ioredis';
import type { RedisClient } from '../redis/redis-client.js';

/**
 * Sends a call of a script whose arguments are text. To a client of the copy of ioredis that is seen from here it goes as a
 * command that is made here: ioredis' own method looks in all arguments for lists of them (`Array.flat`, 60 ns for each), 7 to
 * 10 % of what a job costs Node. Other than by that method it is not held back for an automatic pipeline, and a method
 * that somebody put in the place of `evalsha` is not asked; `sendCommand` is.
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

/** Whether the calls of a tick are sent after it: by a client of another copy that makes pipelines by itself. */
export function isAutoPipelinedForeignClient(client: RedisClient): boolean {
  return client.options.enableAutoPipelining === true && !isOfOurCopy(client);
}

/** Of another copy the commands may be others. */
function isOfOurCopy(client: RedisClient): boolean {
  return client instanceof Redis || client instanceof Cluster;
}
