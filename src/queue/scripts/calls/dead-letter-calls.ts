import type { QueueKeys } from '../queue-keys.js';
import { decodeJob } from '../../replies/decode-job.js';
import type { DeadLetterQuery, DeadLetterSlice, DeadLetterVerbs } from '../../store/store-calls.js';
import type { ScriptArgument, ScriptCall, ScriptName } from '../../transport/script-runner.js';

/** Builds the calls of `lua/dead-letter`, one method per script, and decodes their replies; see the headers there. */
export class DeadLetterCalls implements DeadLetterVerbs {
  constructor(private readonly keys: QueueKeys) {}

  list(query: DeadLetterQuery, looks: number, most: number, withJobs: boolean): ScriptCall<DeadLetterSlice> {
    const { order, name = '', error = '', olderThanMs = '', newerThanMs = '', untilMs = '', place } = query;
    const { mostBytes = '' } = query;
    const filter = [name, asciiLowerCase(error), olderThanMs, newerThanMs, untilMs];
    const args = [order, looks, most, ...filter, place?.at ?? '', place?.id ?? '', withJobs ? '1' : '0', mostBytes];
    return this.call('deadLetterList', args, (reply) => {
      const [nowMs, lastAt, lastId, ...rest] = reply as [number, string, string, ...(string | string[])[]];
      const found: DeadLetterSlice['found'] = [];
      for (let i = 0; i < rest.length; i += 3) {
        const [id, at, hash] = rest.slice(i, i + 3) as [string, string, string[]];
        found.push({ id, at, job: hash.length > 0 ? decodeJob(this.keys.queue, id, hash) : undefined });
      }
      return { nowMs, next: lastAt === '' ? undefined : { at: lastAt, id: lastId }, found };
    });
  }

  /** @param letters with the time of failure as `list` said it; without: whenever it failed */
  discard(letters: readonly { id: string; at?: string }[]): ScriptCall<number> {
    return this.call(
      'deadLetterDiscard',
      letters.flatMap(({ id, at = '' }) => [id, at]),
      Number,
    );
  }

  private call<Answer>(
    script: ScriptName,
    args: readonly ScriptArgument[],
    decode: (reply: unknown) => Answer,
  ): ScriptCall<Answer> {
    return { script, keys: this.keys.standard, args, decode };
  }
}

/** Converts as Lua does, which knows only ASCII letters. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
