// The tables of the docs, as parameters of tests.
import { readFileSync } from 'node:fs';

/** One cell: its row, its column, what the docs say. */
export type Cell = [row: string, column: string, said: string];

/** Returns all cells of the table after a mark of a page, row by row. */
export function tableOf(mark: string, doc: string): Cell[] {
  const [[, ...columns] = [], , ...body] = rowsOf(mark, doc);
  return body.flatMap(([row, ...cells]) => columns.map((column, i) => [row!, column, cells[i]!] as Cell));
}

/** Returns the cells by row, and in each row by column; empty cells are left out. */
export function byRow(cells: readonly Cell[]): [row: string, said: Record<string, string>][] {
  const rows = new Map<string, Record<string, string>>();
  for (const [row, column, said] of cells.filter(([, , text]) => text !== '')) {
    rows.set(row, { ...rows.get(row), [column]: said });
  }
  return [...rows];
}

/** Returns the rows of the table after a mark, the heading and its line included. */
export function rowsOf(mark: string, doc: string): string[][] {
  const text = readFileSync(new URL(`../../${doc}`, import.meta.url), 'utf8');
  const lines = text.split(`<!-- table: ${mark} -->`)[1]!.trimStart().split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
