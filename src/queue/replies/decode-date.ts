/** Decodes an instant in ms since 1970. Returns undefined if it is invalid, because a broken hash must not break a reader. */
export function decodeDate(ms: unknown): Date | undefined {
  const at = new Date(typeof ms === 'string' ? Number(ms) : (ms as number));
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** Decodes an instant that every record has; 1970 if it is unknown. */
export function decodeKnownDate(ms: unknown): Date {
  return decodeDate(ms) ?? new Date(0);
}
