// Calls with one bad argument, and their outcomes.
import { inspect } from 'node:util';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { hiddenMembersOf } from '../sources/hidden-members.js';

/** A parameter: a valid argument, and several invalid ones. */
export type Parameter = readonly [sound: unknown, bad: readonly unknown[]];

/** A function as a caller without types sees it. */
export type Call = (...args: readonly unknown[]) => unknown;

const NO_TEXT = [null, undefined, 5, {}, []];
const NO_OBJECT = [null, 5, 'text', () => {}];

export const text = (sound: string): Parameter => [sound, NO_TEXT];

/** Returns options, which may be left out. */
export const options = (sound: unknown, ...bad: unknown[]): Parameter => [
  sound,
  [...NO_OBJECT, { anOption: 1 }, ...bad],
];

/** Returns an object that must be there. */
export const object = (sound: unknown, ...bad: unknown[]): Parameter => [sound, [undefined, ...NO_OBJECT, ...bad]];
export const payload = (sound: unknown): Parameter => [sound, [undefined, () => {}, Symbol('s'), 5n, NaN]];
export const anything = (sound?: unknown): Parameter => [sound, []];

/** Returns the method at a path such as `schedules.upsert`. Text after a colon only distinguishes two rows. */
export function callAt(owner: object, path: string): Call {
  const [names] = path.split(':');
  const method = names!.split('.').at(-1)!;
  const of = names!
    .split('.')
    .slice(0, -1)
    .reduce<object>((each, name) => (each as Record<string, object>)[name]!, owner);
  return (...args) => (of as Record<string, Call>)[method]!(...args);
}

/** Returns the names of the public methods of an object, those of its bases included. */
export function methodsOf(owner: object): string[] {
  const names = new Set<string>();
  const hidden = hiddenMembersOf(
    Object.hasOwn(owner, 'constructor') ? owner : (Object.getPrototypeOf(owner) as object),
  );
  for (let each = owner; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (typeof value === 'function') names.add(name); // a getter is not called: it may need an instance
    }
  }
  return [...names].filter((name) => name !== 'constructor' && !hidden.has(name));
}

/**
 * Calls once for each bad argument, the others being sound.
 *
 * @returns the outcome of each call that did not fail with a typed error naming a thing; empty for none
 */
export async function complaints(parameters: readonly Parameter[], call: Call): Promise<string[]> {
  const found: string[] = [];
  for (const [at, [, bads]] of parameters.entries()) {
    for (const bad of bads) {
      const args = parameters.map(([sound], i) => (i === at ? bad : sound));
      const complaint = complaintOf(await outcomeOf(() => call(...args)));
      if (complaint) {
        found.push(`argument ${at}, ${inspect(bad, { depth: 1 })}: ${complaint}`);
      }
    }
  }
  return found;
}

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

function complaintOf(outcome: unknown): string | undefined {
  if (outcome instanceof InvalidOptionError) {
    return named(outcome.subject) ? undefined : outcome.message;
  }
  if (outcome instanceof InvalidPayloadError) {
    return named(outcome.path) ? undefined : outcome.message;
  }
  return outcome === undefined ? 'it was taken' : inspect(outcome);
}

function named(subject: string): boolean {
  return subject !== '' && !/undefined|null|\[object/.test(subject);
}
