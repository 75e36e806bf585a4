/**
 * Marks objects of this package in every copy of it. An app may load the ES module and the CommonJS build together, but
 * `instanceof` works only within one copy.
 */
const BRAND = Symbol.for('nest-job-queue:brand');

type Brand =
  | 'JobDefinition'
  | 'TopicDefinition'
  | 'RedisStore'
  | 'NonRetryableError'
  | 'RetryLaterError'
  | 'RateLimitedError';

/** Marks all instances of a class and of its subclasses. */
export function brand(type: { prototype: object }, name: Brand): void {
  Object.defineProperty(type.prototype, BRAND, { value: name });
}

/** Returns the check for instances of the class that has this mark, whichever copy made them. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller's type says which class it is
export function brandCheck<Instance>(name: Brand): (value: unknown) => value is Instance {
  return (value): value is Instance => {
    try {
      return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === name;
    } catch {
      return false; // a thrown value must be settled even if reading it throws
    }
  };
}

/** Marks the base class of the errors. */
export const ERROR_FAMILY: unique symbol = Symbol.for('nest-job-queue:error') as never;

/** Returns whether a value is an error of this code or of a subclass. Any copy of this package may have made it. */
export function isErrorOf(type: { code: string }, value: unknown): boolean {
  try {
    // A class of the app that extends one of ours has no code of its own.
    return Object.hasOwn(type, 'code') && classesOf(value).some((each) => each.code === type.code);
  } catch {
    return false; // a thrown value may throw again when it is read
  }
}

/** Returns the classes of an error of this package, the most special first. */
function classesOf(value: unknown): { code?: unknown }[] {
  const classes: { code?: unknown }[] = [];
  let type: unknown = (value as { constructor?: unknown } | null | undefined)?.constructor;
  while (typeof type === 'function' && (type as { [ERROR_FAMILY]?: unknown })[ERROR_FAMILY] === true) {
    classes.push(Object.hasOwn(type, 'code') ? (type as { code?: unknown }) : {});
    type = Object.getPrototypeOf(type);
  }
  return classes;
}
