/** Decodes an instant in ms since 1970. Returns undefined if it is invalid, because a broken hash must not break a reader. */
export function decodeDate(ms: unknown): Date | undefined {
  const isInstant = typeof ms === 'string' || typeof ms === 'number' || ms instanceof Date;
  const at = new Date(isInstant ? Number(ms) : Number.NaN);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** Decodes an instant that every record has; 1970 if it is unknown. */
export function decodeKnownDate(ms: unknown): Date {
  return decodeDate(ms) ?? new Date(0);
}
