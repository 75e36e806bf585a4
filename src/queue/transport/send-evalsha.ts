import { Cluster, Command, Redis } from 'ioredis';
import type { RedisClient } from '../redis/redis-client.js';

/** The texts of a call, and their bytes. A call with thousands of keys that is sent again and again keeps them. */
export class SentTexts {
  private built: { readonly script: string; readonly texts: string[] } | undefined;
  private bytes: string | Buffer | undefined;

  /** Returns the texts of the call of this script, or text of a script. */
  of(script: string, build: () => string[]): string[] {
    if (this.built?.script !== script) {
      this.built = { script, texts: build() };
      this.bytes = undefined;
    }
    return this.built.texts;
  }

  /** Returns the bytes of a command with these texts. */
  bytesOf(command: Command, socket: object): string | Buffer {
    this.bytes ??= Buffer.from(Command.prototype.toWritable.call(command, socket));
    return this.bytes;
  }
}

/**
 * Sends a call of a script with text arguments. For a client of our copy of ioredis it builds the command itself. The
 * method of ioredis searches all arguments for lists (`Array.flat`, 60 ns each). That costs 7 to 10 % of a job's Node
 * CPU. Such a command does not wait for automatic pipelining. A replaced method `evalsha` is not called; `sendCommand`
 * is.
 */
export function sendEvalsha(
  client: RedisClient,
  verb: 'eval' | 'evalsha',
  args: string[],
  kept?: SentTexts,
): Promise<unknown> {
  if (!isOfOurCopy(client)) {
    const [script, keyCount, ...rest] = args as [string, string, ...string[]];
    return client[verb](script, keyCount, ...rest);
  }
  const errorStack = client.options.showFriendlyErrorStack ? new Error() : undefined;
  const command = new Command(verb, [], { replyEncoding: 'utf8', errorStack });
  command.args = args;
  if (kept) {
    command.toWritable = (socket) => kept.bytesOf(command, socket);
  }
  return client.sendCommand(command) as Promise<unknown>;
}

/** Returns whether the calls of a tick are sent after it: by a client of another copy with automatic pipelining. */
export function isAutoPipelinedForeignClient(client: RedisClient): boolean {
  return client.options.enableAutoPipelining === true && !isOfOurCopy(client);
}

/** Returns whether the client is of our copy of ioredis. Another copy may have other commands. */
function isOfOurCopy(client: RedisClient): boolean {
  return client instanceof Redis || client instanceof Cluster;
}
