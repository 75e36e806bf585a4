/**
 * Marks objects of this package in every copy of it. An app may load the ES module and the CommonJS build together, but
 * `instanceof` works only within one copy.
 */
const BRAND = Symbol.for('nest-job-queue:brand');

type Brand = 'JobDefinition' | 'NonRetryableError' | 'RetryLaterError' | 'RateLimitedError';

/** Marks all instances of a class and of its subclasses. */
export function brand(type: { prototype: object }, name: Brand): void {
  Object.defineProperty(type.prototype, BRAND, { value: name });
}

/** Returns whether a value is an instance of the class of that brand, whichever copy made it. */
export function hasBrand(value: unknown, name: Brand): boolean {
  try {
    return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === name;
  } catch {
    return false; // a thrown value must be settled even if reading it throws
  }
}
