import { createHash } from 'node:crypto';
import { JobQueueError } from './errors.js';
import { luaScripts } from './lua.generated.js';
import { explainRefusal } from './permission-error.js';
import { isCluster, leaveReplica, type RedisClient } from './redis-client.js';

export type ScriptName = keyof typeof luaScripts;
export type ScriptArgument = string | number;

/** One call of a script, with what its reply means. Built by QueueScripts, run by ScriptRunner. */
export interface ScriptCall<Answer> {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
  decode(reply: unknown): Answer;
}

/** A wait on sorted sets that ends with the first marker. It takes no job, so one that is cut loses nothing. */
export interface BlockingWait {
  keys: readonly string[];
  seconds: number;
  /** Told when the server refused the wait: then the calls behind it came at once, and nothing was waited for. */
  onRefusal?(error: Error): void;
}

type Reply = [Error | null, unknown] | undefined;

/** The outcome of one call of several that travelled together. */
export type Settled<Answer> = { ok: true; answer: Answer } | { ok: false; error: Error };

/** A reply that is not what its script returns. Asking again would bring the same. */
export class ReplyDecodeError extends JobQueueError {
  constructor(script: ScriptName, cause: unknown) {
    super(`The reply of the script ${script} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

const shas = Object.fromEntries(
  Object.entries(luaScripts).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
) as Record<ScriptName, string>;

/** Runs scripts by their digest, and by their text where the server does not know them yet or any more. */
export class ScriptRunner {
  constructor(private readonly client: RedisClient) {}

  async run<Answer>(call: ScriptCall<Answer>): Promise<Answer> {
    return call.decode(await this.evaluate(call));
  }

  /**
   * Runs several calls in one round trip, in order; one that fails does not stop the others.
   *
   * @param first waits for a marker on one of these keys, or so many seconds, before the first call
   */
  async runTogether<Answers extends unknown[]>(
    calls: { [Index in keyof Answers]: ScriptCall<Answers[Index]> },
    first?: BlockingWait,
  ): Promise<{ [Index in keyof Answers]: Settled<Answers[Index]> }> {
    const [only] = calls;
    if (only && calls.length === 1 && !first) {
      // A worker's every trip may be one call: what a pipeline costs beside it is saved.
      return [await this.settle(only)] as { [Index in keyof Answers]: Settled<Answers[Index]> };
    }
    const replies = isCluster(this.client) ? await this.sendBySlot(calls, first) : await this.send(calls, first);
    const settled = calls.map((call, i) => settledBy(call, replies[i]));
    if (replies.some((reply) => isReadOnly(reply?.[0]))) {
      leaveReplica(this.client);
    }
    for (const [i, call] of calls.entries()) {
      const outcome = settled[i]!;
      if (!outcome.ok && isUnknownScript(outcome.error)) {
        settled[i] = await this.settle(call);
      }
    }
    return settled as { [Index in keyof Answers]: Settled<Answers[Index]> };
  }

  /** The replies to the calls, in their order. */
  private async send(calls: readonly ScriptCall<unknown>[], first?: BlockingWait): Promise<Reply[]> {
    const pipeline = this.client.pipeline();
    if (first) {
      pipeline.bzpopmin(...first.keys, first.seconds);
    }
    for (const call of calls) {
      pipeline.evalsha(shas[call.script], call.keys.length, ...call.keys, ...call.args);
    }
    const replies = (await pipeline.exec()) ?? [];
    const refusal = first && replies[0]?.[0];
    if (refusal?.name === 'ReplyError') {
      first?.onRefusal?.(explainRefusal(refusal) as Error);
    }
    return replies.slice(first ? 1 : 0);
  }

  /**
   * The queues of a Cluster are on different masters, and a pipeline goes to one: each queue has its own. One that
   * fails as a whole does not take the answers of the others with it. A wait is for queues of one slot only.
   */
  private async sendBySlot(calls: readonly ScriptCall<unknown>[], first?: BlockingWait): Promise<Reply[]> {
    const bySlot = new Map<string, number[]>();
    calls.forEach((call, i) => bySlot.set(slotOf(call), [...(bySlot.get(slotOf(call)) ?? []), i]));
    if (first || bySlot.size <= 1) {
      return this.send(calls, first);
    }
    const replies: Reply[] = [];
    await Promise.all(
      [...bySlot.values()].map(async (places) => {
        const part = await this.send(places.map((i) => calls[i]!)).catch((error: Error) =>
          places.map((): Reply => [error, undefined]),
        );
        places.forEach((i, at) => (replies[i] = part[at]));
      }),
    );
    return replies;
  }

  private async settle(call: ScriptCall<unknown>): Promise<Settled<unknown>> {
    try {
      return settledBy(call, [null, await this.evaluate(call)]);
    } catch (error) {
      return { ok: false, error: error as Error };
    }
  }

  private async evaluate(call: ScriptCall<unknown>): Promise<unknown> {
    try {
      return await this.client.evalsha(shas[call.script], call.keys.length, ...call.keys, ...call.args);
    } catch (error) {
      if (!isUnknownScript(error)) {
        throw this.explain(error);
      }
      return this.evaluateText(call);
    }
  }

  private async evaluateText(call: ScriptCall<unknown>): Promise<unknown> {
    try {
      return await this.client.eval(luaScripts[call.script], call.keys.length, ...call.keys, ...call.args);
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** What an error means, once what follows from it is done. */
  private explain(error: unknown): unknown {
    if (isReadOnly(error)) {
      leaveReplica(this.client);
    }
    return explainRefusal(error);
  }
}

/** What all keys of one call share, by which a Cluster finds their slot. */
function slotOf({ keys }: ScriptCall<unknown>): string {
  return /\{(.+?)\}/.exec(keys[0] ?? '')?.[1] ?? '';
}

function settledBy(call: ScriptCall<unknown>, reply: Reply): Settled<unknown> {
  const [error, value] = reply ?? [new Error('the pipeline was not answered'), undefined];
  if (error) {
    return { ok: false, error: explainRefusal(error) as Error };
  }
  try {
    return { ok: true, answer: call.decode(value) };
  } catch (failure) {
    return { ok: false, error: new ReplyDecodeError(call.script, failure) };
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
