/** Decodes an instant in ms since 1970; undefined where it is none: a broken hash must break no reader. */
export function decodeDate(ms: unknown): Date | undefined {
  const at = new Date(typeof ms === 'string' ? Number(ms) : (ms as number));
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** The same for an instant that a record always has; 1970 where it is not known. */
export function decodeKnownDate(ms: unknown): Date {
  return decodeDate(ms) ?? new Date(0);
}
