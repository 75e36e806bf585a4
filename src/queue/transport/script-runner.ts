import { Cluster, Redis, Command } from 'ioredis';
import { clusterDigests, scriptDigests } from '../digests.generated.js';
import { JobQueueError } from '../errors/errors.js';
import type { LuaScriptName } from '../lua.generated.js';
import { serverOfKey } from '../redis/address.js';
import { explainForCaller, explainRefusal } from '../redis/connection-errors.js';
import { type RedisClient, isCluster, leaveReplica } from '../redis/redis-client.js';
import { type Settled, type StoreCall, UnexpectedReply } from '../store/store-call.js';
import { auditedScript, frameArguments, type AuditMark } from './audited-script.js';
import { newDigest, scriptText } from './late-files.js';
import { isWrongType, nameWrongKeys, nameWrongKeysOf } from './wrong-keys.js';

/** Returns whether the calls of a tick are sent after it: by a client of another copy with automatic pipelining. */
export function isAutoPipelinedForeignClient(client: RedisClient): boolean {
  return client.options.enableAutoPipelining === true && !isOfOurCopy(client);
}

/** Returns whether the client is of our copy of ioredis. Another copy may have other commands. */
export function isOfOurCopy(client: RedisClient): boolean {
  return client instanceof Redis || client instanceof Cluster;
}

export type ScriptName = LuaScriptName;
export type ScriptArgument = string | number;

/** A call of a script, with the decoder of its reply. Built by allCalls, run by ScriptRunner. */
export interface ScriptCall<Reply> extends StoreCall<Reply> {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
  /** Set where its transitions are written down. */
  readonly audit?: AuditMark;
  /** Set for a call that is sent many times. */
  readonly sent?: SentTexts;
  /** Returns the call to send instead, if the reply says that nothing was done. */
  readonly resend?: (reply: unknown) => ScriptCall<Reply> | undefined;
}

/** A step that is a single command of Redis without a script. */
export interface CommandCall<Reply> extends StoreCall<Reply> {
  /** The keys that it uses, after one that tells the queue: see typesOfCall. */
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
  send(client: RedisClient): Promise<unknown>;
}

export type RedisCall<Reply> = ScriptCall<Reply> | CommandCall<Reply>;

/** A wait on sorted sets that ends with the first marker. It takes no job, so a cut wait loses nothing. */
export interface BlockingWait {
  keys: readonly string[];
  seconds: number;
  /** Receives the marker that ended the wait, as bytes. Claims wait behind it, so only a cancel is made a text. */
  onMarker?: (key: Buffer, member: Buffer) => void;
  /** Called when the server refused the wait. The calls after it then ran at once. */
  onRefusal?: (error: Error) => void;
}

/** A reply that its script does not return. A repeat would get the same. */
export class ReplyDecodeError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REPLY_DECODE';

  constructor(script: string, cause: unknown) {
    super(`The reply of the script ${script} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the digest by which the server knows the script of a call. */
function digestOf({ script, audit }: ScriptCall<unknown>, sharded: boolean): string {
  if (audit) return auditedScript(script, sharded).sha;
  return (sharded ? clusterDigests : scriptDigests)[script] ?? newDigest(script, sharded);
}

/** Returns the script of a call: inside the frame of the audit trail if the call is marked for it. */
function textOfCall({ script, audit }: ScriptCall<unknown>, sharded: boolean): string {
  return audit ? auditedScript(script, sharded).text : scriptText(script, sharded);
}

/** Runs scripts by their digest, and by their text where the server does not know them yet or any more. */
export class ScriptRunner {
  /** The first calls that carry the text of a script, while they are in flight, by server and digest. */
  private readonly texts = new Map<string, Promise<unknown>>();
  private readonly isOurs: boolean;

  /** @param isSharded whether the server is one of a Cluster, which has own texts of the scripts */
  constructor(
    private readonly client: RedisClient,
    private readonly isSharded = () => isCluster(client),
  ) {
    this.isOurs = isOfOurCopy(client);
  }

  run<Reply>(call: RedisCall<Reply>): Promise<Reply> {
    if ('send' in call) {
      return call.send(this.client).then(
        (reply) => decodedOf(call, reply),
        (error: unknown) => this.fail(call, error, this.failRun),
      );
    }
    return this.evaluate(call, (reply) => decodedOf(call, reply), this.failRun);
  }

  private readonly failRun = (error: unknown): never => {
    throw explainForCaller(error, this.client);
  };

  /**
   * Sends several calls in one round trip, in order. A failed call does not stop the others. If a Cluster redirects
   * them, each finds its own way, so a later one may be answered first.
   *
   * Sent as separate commands: an ioredis pipeline costs more CPU than it saves. Its leftovers also survive scavenges,
   * which then take many times as long.
   *
   * @param first waits for a marker on one of these keys, or for this many seconds, before the first call
   */
  runTogether<Replies extends unknown[]>(
    calls: { [Index in keyof Replies]: ScriptCall<Replies[Index]> },
    first?: BlockingWait,
  ): Promise<{ [Index in keyof Replies]: Settled<Replies[Index]> }> {
    const woken = first && this.wait(first);
    const settling = calls.map((call) => this.settle(call));
    // The wait does not delay claims sent after it.
    const settled = calls.length > 0 ? Promise.all(settling) : Promise.resolve(woken).then(() => []);
    return settled as Promise<{ [Index in keyof Replies]: Settled<Replies[Index]> }>;
  }

  /** Waits for a marker. Takes a failure of the connection for the end of the wait. */
  wait({ keys, seconds, onMarker, onRefusal }: BlockingWait): Promise<unknown> {
    return this.client.bzpopminBuffer(...keys, seconds).then(
      (popped) => popped && onMarker?.(popped[0], popped[1]),
      (error: Error) => {
        // If the connection failed, the calls behind it report so too.
        if (isWrongType(error)) {
          const types = new Map(keys.map((key) => [key, 'zset']));
          return nameWrongKeys(this.client, error, types).then(onRefusal);
        }
        if (isReply(error)) {
          onRefusal?.(this.explain(error) as Error);
        }
        return undefined;
      },
    );
  }

  private settle(call: ScriptCall<unknown>): Promise<Settled<unknown>> {
    return this.evaluate<Settled<unknown>>(
      call,
      (reply) => decoded(call, reply),
      (error) => ({ ok: false, error: error as Error }),
    );
  }

  /** Decodes the reply in the command's own promise, because each further promise adds to a waiting job's latency. */
  private evaluate<Outcome>(
    call: ScriptCall<unknown>,
    use: (reply: unknown) => Outcome,
    fail: (error: unknown) => Outcome,
  ): Promise<Outcome> {
    const { resend } = call;
    const used = resend
      ? (reply: unknown) => {
          const next = resend(reply);
          return next ? this.evaluate(next, use, fail) : use(reply);
        }
      : use;
    const sharded = this.isSharded();
    let sha: string;
    try {
      sha = digestOf(call, sharded);
    } catch (error) {
      return Promise.reject(error).catch((cause: unknown) => this.fail(call, cause, fail)); // late files were replaced
    }
    return this.send('evalsha', sha, call).then(used, (error: unknown) =>
      isUnknownScript(error)
        ? this.sendText(sha, sharded, call).then(used, (refusal: unknown) => this.fail(call, refusal, fail))
        : this.fail(call, error, fail),
    );
  }

  /**
   * Sends a call of a script that the server does not know. One call in flight carries the text; the others wait for
   * it. Otherwise all queues of a process would send the same text after a restart of the server.
   */
  private async sendText(sha: string, sharded: boolean, call: ScriptCall<unknown>): Promise<unknown> {
    const text = textOfCall(call, sharded);
    const place = `${sha} ${serverOfKey(this.client, call.keys[0] ?? '')}`;
    const first = this.texts.get(place);
    if (first) {
      const again = () =>
        this.send('evalsha', sha, call).catch((error: unknown) =>
          isUnknownScript(error) ? this.send('eval', text, call) : rethrow(error),
        );
      // A refusal of the first call still taught the script. A lost connection fails all that wait for it.
      return first.then(again, (error: unknown) => (isReply(error) ? again() : rethrow(error)));
    }
    const sent = this.send('eval', text, call);
    const forget = () => void this.texts.delete(place);
    this.texts.set(place, sent);
    sent.then(forget, forget);
    return sent;
  }

  private send(verb: 'eval' | 'evalsha', script: string, call: ScriptCall<unknown>): Promise<unknown> {
    try {
      const kept = verb === 'evalsha' ? call.sent : undefined;
      const build = () => textsOf(script, call);
      return this.sendTexts(verb, kept ? kept.of(script, build) : build(), kept);
    } catch (error) {
      return Promise.reject(error); // from a replaced `sendCommand` of the client
    }
  }

  /**
   * Sends a call of a script with text arguments. For a client of our copy of ioredis it builds the command itself. The
   * method of ioredis searches all arguments for lists (`Array.flat`, 60 ns each). That costs 7 to 10 % of a job's Node
   * CPU. Such a command does not wait for automatic pipelining. A replaced method `evalsha` is not called; `sendCommand`
   * is.
   */
  private sendTexts(verb: 'eval' | 'evalsha', texts: string[], kept?: SentTexts): Promise<unknown> {
    const { client } = this;
    if (!this.isOurs) {
      const [script, keyCount, ...rest] = texts as [string, string, ...string[]];
      return client[verb](script, keyCount, ...rest);
    }
    const errorStack = client.options.showFriendlyErrorStack ? new Error() : undefined;
    const command = new TextCommand(verb, texts, { replyEncoding: 'utf8', errorStack }, kept);
    return client.sendCommand(command) as Promise<unknown>;
  }

  /** Fails with an error for the caller, which names the keys of a wrong type. */
  private fail<Outcome>(
    call: RedisCall<unknown>,
    error: unknown,
    fail: (error: unknown) => Outcome,
  ): Outcome | Promise<Outcome> {
    return isWrongType(error) ? nameWrongKeysOf(this.client, error, call).then(fail) : fail(this.explain(error));
  }

  /** Returns an error for the caller, after handling its consequences. */
  private explain(error: unknown): unknown {
    if (isReadOnly(error)) {
      leaveReplica(this.client);
    }
    return explainRefusal(error);
  }
}

/** Returns the arguments of EVAL for a call, for a connection that sends texts instead of digests. */
export function evalArguments(call: ScriptCall<unknown>, sharded: boolean): string[] {
  return textsOf(textOfCall(call, sharded), call);
}

/**
 * Returns the arguments of a call as texts. `concat` creates them, not the literal that it begins with: see `young` in
 * decode-claim.ts.
 */
function textsOf(script: string, { keys, args, audit }: ScriptCall<unknown>): string[] {
  return audit
    ? [script, String(keys.length + 3)].concat(keys, audit.keys, args.map(String), frameArguments(audit))
    : [script, String(keys.length)].concat(keys, args.map(String));
}

/** Kept here, because the global `Buffer` is a getter that V8 does not inline. */
const { byteLength } = Buffer;

/** The heads of short texts. The index is the length of the text in bytes. */
const SHORT_HEADS = Array.from({ length: 256 }, (_, bytes) => headOf(bytes));

/** Returns what the protocol of Redis writes before a text: its length in bytes. */
function headOf(bytes: number): string {
  return `\r\n$${bytes}\r\n`;
}

/** A command whose arguments are texts. It needs half of the time that ioredis needs to write them. */
class TextCommand extends Command {
  private readonly kept: SentTexts | undefined;

  constructor(
    name: string,
    texts: string[],
    options: { replyEncoding: BufferEncoding; errorStack: Error | undefined },
    kept?: SentTexts,
  ) {
    super(name, [], options);
    this.args = texts;
    this.kept = kept;
  }

  override toWritable(): string | Buffer {
    return this.kept ? this.kept.bytesOf(() => this.written()) : this.written();
  }

  private written(): string {
    const { name, args } = this;
    let written = `*${args.length + 1}\r\n$${name.length}\r\n${name}`;
    for (const text of args as string[]) {
      const bytes = byteLength(text);
      written += (SHORT_HEADS[bytes] ?? headOf(bytes)) + text;
    }
    return `${written}\r\n`;
  }
}

function decoded<Reply>(call: ScriptCall<Reply>, reply: unknown): Settled<Reply> {
  try {
    return { ok: true, reply: call.decode(reply) };
  } catch (failure) {
    return { ok: false, error: new ReplyDecodeError(call.script, failure) };
  }
}

/** Returns the decoded reply. @throws what the decoder throws of a refusal; ReplyDecodeError for a wrong reply */
export function decodedOf<Reply>(call: RedisCall<Reply>, reply: unknown): Reply {
  try {
    return call.decode(reply);
  } catch (failure) {
    throw WRONG_REPLIES.some((kind) => failure instanceof kind)
      ? new ReplyDecodeError(call.script, failure)
      : failure;
  }
}

/** The errors of a decoder that met a reply of another call. */
const WRONG_REPLIES = [UnexpectedReply, TypeError, RangeError, SyntaxError];

function rethrow(error: unknown): never {
  throw error;
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}

/** Returns whether the server sent this error, so that the call has reached it. */
function isReply(error: unknown): boolean {
  return (error as Error).name === 'ReplyError';
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** The texts of a call, and their bytes. A call with thousands of keys keeps them, because it is sent again and again. */
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
  bytesOf(written: () => string): string | Buffer {
    this.bytes ??= Buffer.from(written());
    return this.bytes;
  }
}
