/**
 * Returns the findings for all columns of a row at once, because each cell has its own queue. A cell that throws has
 * its error in the place of its words, so that the others are seen too.
 */
export async function allCells(
  said: Record<string, string>,
  find: (column: string) => Promise<string>,
): Promise<Record<string, string>> {
  const found = Object.keys(said).map(async (column) => [
    column,
    await find(column).catch((error: unknown) => (error as Error).stack ?? String(error)),
  ]);
  return Object.fromEntries((await Promise.all(found)) as [string, string][]);
}
