import type { QueueKeys } from '../store/queue-keys.js';
import type { ScriptArgument, ScriptCall, ScriptName } from '../redis/script-runner.js';

/** Which dead letters are meant, as the script reads it. */
export interface DeadLetterQuery {
  order: 'oldest' | 'newest';
  name?: string;
  error?: string;
  olderThanMs?: number;
  newerThanMs?: number;
  /** The last time of failure that counts, server time in ms. */
  untilMs?: number;
  /** Where to go on; absent: from the beginning. */
  place?: DeadLetterPlace;
}

/** A place among the dead letters: the one that was looked at last. */
export interface DeadLetterPlace {
  at: string;
  id: string;
}

export interface DeadLetterSlice {
  /** Server time, in ms. */
  nowMs: number;
  /** Where to go on; undefined when nothing is left. */
  next: DeadLetterPlace | undefined;
  found: { id: string; at: string; hash: string[] }[];
}

/** One method per script of `lua/dead-*.lua`: builds its call and says what the reply means; see the headers there. */
export class DeadLetterCalls {
  constructor(private readonly keys: QueueKeys) {}

  list(query: DeadLetterQuery, looks: number, most: number, hashes: boolean): ScriptCall<DeadLetterSlice> {
    const { order, name = '', error = '', olderThanMs = '', newerThanMs = '', untilMs = '', place } = query;
    const filter = [name, asciiLowerCase(error), olderThanMs, newerThanMs, untilMs];
    const args = [order, looks, most, ...filter, place?.at ?? '', place?.id ?? '', hashes ? '1' : '0'];
    return this.call('deadLetterList', args, (reply) => {
      const [nowMs, at, id, ...rest] = reply as [number, string, string, ...(string | string[])[]];
      const found: DeadLetterSlice['found'] = [];
      for (let i = 0; i < rest.length; i += 3) {
        found.push({ id: rest[i] as string, at: rest[i + 1] as string, hash: rest[i + 2] as string[] });
      }
      return { nowMs, next: at === '' ? undefined : { at, id }, found };
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

/** As Lua does it, which knows no other letters. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
