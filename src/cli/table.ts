import Table from 'cli-table3';
import { type Part, Text, valueOf } from './text.js';

/** The most characters of one cell; an id or an error may be of any length. */
const LONGEST_CELL = 120;
/** A column of text keeps so many characters when the table is made to fit. */
const NARROWEST = 8;
const GAP = 2;

const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' '.repeat(GAP),
};

/**
 * Columns without lines; numbers to the right.
 *
 * @param width of the terminal; undefined: as wide as it gets
 * @param whole the heads of columns that are cut last
 */
export function fitted(
  head: readonly string[],
  rows: readonly (readonly Part[])[],
  width: number | undefined,
  whole: readonly string[],
): Text {
  const isNumeric = (_: string, i: number) => rows.some((row) => typeof row[i] === 'number');
  const numeric = head.map(isNumeric);
  const draw = (colWidths: number[]) => {
    const table = new Table({
      head: [...head],
      colAligns: numeric.map((each) => (each ? 'right' : 'left')),
      colWidths,
      chars: PLAIN,
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    });
    table.push(...rows.map((row) => row.map((cell) => valueOf(cell, LONGEST_CELL))));
    return { shown: table.toString(), widths: table.options.colWidths as number[] };
  };
  const { shown, widths } = draw([]);
  const total = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));
  const wanted = width !== undefined && total > width;
  const cut = wanted
    ? draw(shrunk(widths, total - width, [numeric, head.map((each) => whole.includes(each))]))
    : { shown };
  const ends = cut.shown.split('\n').map((line) => line.trimEnd());
  return new Text(ends.join('\n'));
}

/** Takes what is too much from the widest columns, of numbers and of those that shall stay whole last. */
function shrunk(widths: readonly number[], excess: number, last: readonly (readonly boolean[])[]): number[] {
  const now = [...widths];
  const isSpared = (i: number) => last.some((each) => each[i]);
  const groups = [now.map((_, i) => !isSpared(i)), now.map((_, i) => isSpared(i) && !last[0]![i])];
  let left = excess;
  for (const group of groups) {
    while (left > 0) {
      const widest = now.reduce((best, each, i) => (group[i] && each > (now[best] ?? 0) ? i : best), -1);
      if (widest < 0 || now[widest]! <= NARROWEST) break;
      now[widest]!--;
      left--;
    }
  }
  return now;
}
