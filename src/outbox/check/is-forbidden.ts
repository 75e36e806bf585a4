/** What a database says to a user without the permission: PostgreSQL, and MySQL for a table and for columns. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  '42501',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
]);
/** The fields in which clients keep the error of their driver. */
const INNER = ['cause', 'original', 'parent', 'driverError', 'previous'] as const;

/** Returns whether an error of a database client says that its user lacks a permission. */
export function isForbidden(error: unknown, depth = 5): boolean {
  if (typeof error !== 'object' || error === null || depth === 0) {
    return false;
  }
  const fields = error as Record<string, unknown>;
  return REFUSALS.has(fields['code']) || INNER.some((name) => isForbidden(fields[name], depth - 1));
}
