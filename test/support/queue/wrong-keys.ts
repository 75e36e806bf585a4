/** An encryption key, as an environment has it. A slash in it looks like the path of an address. */
export const KEY = 'a66J10oVJxbga5XebHGk/doT+ef54M0fRbDC8mrlktI=';
/** Values that a likely mistake gives in the place of an option, most of them with the key. */
export const WRONG_FOR_KEYS: Readonly<Record<string, unknown>> = {
  'a key': KEY,
  'keys of the environment': `2030-07:${KEY},2030-06:${KEY}`,
  'a list of keys': [KEY, KEY],
  'an object by key': { [KEY]: KEY },
  'a map': new Map([[KEY, KEY]]),
  'a buffer': Buffer.from(KEY),
  'a number': 5,
  true: true,
  null: null,
  nothing: undefined,
  'a symbol': Symbol(KEY),
  'a function': Object.defineProperty(() => undefined, 'name', { value: KEY }),
};
/** Returns the error of a call, with all that it says. */
export async function refusal(call: () => unknown): Promise<{ error: unknown; said: string }> {
  try {
    await call();
  } catch (error) {
    return { error, said: `${(error as Error).message} ${JSON.stringify(error)} ${(error as Error).stack}` };
  }
  return { error: undefined, said: '' };
}
