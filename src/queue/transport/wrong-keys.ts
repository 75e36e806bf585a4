import type { RedisClient } from '../redis/redis-client.js';
import { parseJson } from '../codec/stored-value.js';
import { typesOfCall } from '../validation/key-types.js';
import { RedisKeyTypeError, type WrongKey } from '../errors/redis-errors.js';
import { scriptText } from './late-files.js';

/** Returns the keys whose type differs from the expected one. A missing key has no type. */
export async function wrongKeys(client: RedisClient, types: ReadonlyMap<string, string>): Promise<WrongKey[]> {
  const keys = [...types.keys()];
  if (keys.length === 0) {
    return [];
  }
  const reply = await client.eval(scriptText('queueCheckKeys', false), keys.length, ...keys, ...types.values());
  const found = (reply as (number | string)[]).map(String);
  return Array.from({ length: found.length / 2 }, (_, i) => {
    const key = keys[Number(found[2 * i]) - 1]!;
    return { key, expected: types.get(key)!, found: found[2 * i + 1]! };
  });
}

/** Returns whether Redis refused a command because of the type of a key. Its message does not name the key. */
export function isWrongType(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError' && error.message.startsWith('WRONGTYPE');
}

/**
 * Returns an error that names the keys of a wrong type, at the cost of one more call. It names none where a script found
 * the key by the content of another key. Returns the error itself if Redis does not answer.
 *
 * @param types the keys that the failed call may have used, with their types
 */
export async function nameWrongKeys(
  client: RedisClient,
  error: Error,
  types: ReadonlyMap<string, string>,
): Promise<Error> {
  const wrong = await wrongKeys(client, types).catch(() => undefined); // the error of the call says more
  return wrong ? new RedisKeyTypeError(wrong, { cause: error }) : error;
}

/** The longest argument of a call that is taken for an id, or for options with ids. */
const LONGEST_ARGUMENT = 512;

/** Returns an error that names the keys of a wrong type which a call has used; see nameWrongKeys. */
export function nameWrongKeysOf(
  client: RedisClient,
  error: Error,
  { keys, args }: { readonly keys: readonly string[]; readonly args: readonly (string | number)[] },
): Promise<Error> {
  const texts = args.filter((arg) => typeof arg === 'string').filter((arg) => arg.length <= LONGEST_ARGUMENT);
  return nameWrongKeys(client, error, typesOfCall(keys, texts.flatMap(idsIn)));
}

/** Returns the texts that may be ids: the argument itself, or those in its options. */
function idsIn(arg: string): string[] {
  const options = arg.startsWith('{') ? parseJson(arg).value : undefined;
  const texts: unknown[] = options ? Object.values(options).flat() : [arg];
  return texts.filter((text): text is string => typeof text === 'string' && text !== '');
}
