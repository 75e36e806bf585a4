import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import { short } from '../queue/runtime/cut.js';
import { LONGEST_PART, type Part, Text, valueOf } from './text.js';

/** The minimum width of a column of text, in characters. */
const NARROWEST = 8;
const GAP = 2;
/** The column of the words after `cause:` and `next:`. */
const RIGHT_OF_LABEL = 11;

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

/** The options of fitting a table; columns are named by their heads. */
export interface TableLayout {
  /** The columns that are cut last, and in the middle, because users tell rows apart by them. */
  whole?: readonly string[];
  /** Columns of text to the right. Numbers always are. */
  right?: readonly string[];
  /** Columns that go where the terminal is too narrow, the first one first. */
  dropped?: readonly string[];
  /** Columns that go where it is too narrow also for short texts. */
  droppedLast?: readonly string[];
}

/**
 * Returns a table: columns without lines, numbers to the right.
 *
 * @param width of the terminal; undefined: as wide as it gets
 */
export function fitted(
  head: readonly string[],
  rows: readonly (readonly Part[])[],
  width: number | undefined,
  layout: TableLayout,
): Text {
  const { whole = [], right = [], dropped = [], droppedLast = [] } = layout;
  const numeric = head.map((name, i) => right.includes(name) || rows.some((row) => typeof row[i] === 'number'));
  const cells = rows.map((row) => row.map((cell) => valueOf(cell, width ?? LONGEST_PART)));
  const { shown, widths } = draw(head, cells, numeric);
  const excess = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1)) - (width ?? Infinity);
  if (excess <= 0) {
    return shown;
  }
  const without = (name: string, left: Partial<TableLayout>) => {
    const at = head.indexOf(name);
    const rest = <Each>(row: readonly Each[]) => row.toSpliced(at, 1);
    return fitted(rest(head), rows.map(rest), width, { ...layout, ...left });
  };
  const [first, ...others] = dropped;
  if (first !== undefined) {
    return without(first, { dropped: others });
  }
  const spared = head.map((name) => whole.includes(name));
  const { now, left } = shrunk(widths, excess, numeric, spared);
  const [last, ...lasts] = droppedLast;
  if (left > 0 && last !== undefined) {
    return without(last, { droppedLast: lasts });
  }
  const cut = cells.map((row) => row.map((cell, i) => (spared[i] ? short(cell, now[i]!) : cell)));
  return draw(head, cut, numeric, now).shown;
}

function draw(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  numeric: readonly boolean[],
  colWidths: number[] = [],
): { shown: Text; widths: number[] } {
  const table = new Table({
    head: [...head],
    colAligns: numeric.map((each) => (each ? 'right' : 'left')),
    colWidths,
    chars: PLAIN,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...cells.map((row) => [...row]));
  const ends = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  return { shown: new Text(ends.join('\n')), widths: table.options.colWidths as number[] };
}

/** Shortens the widest columns first, spared ones last, and never numbers. */
function shrunk(
  widths: readonly number[],
  excess: number,
  numeric: readonly boolean[],
  spared: readonly boolean[],
): { now: number[]; left: number } {
  const now = [...widths];
  let left = excess;
  for (const turn of [false, true]) {
    for (; left > 0; left--) {
      const candidates = now.map((each, i) => (!numeric[i] && spared[i] === turn ? each : 0));
      const widest = Math.max(...candidates);
      if (widest <= NARROWEST) break;
      now[candidates.indexOf(widest)]!--;
    }
  }
  return { now, left };
}

/** Returns the first lines of a text that fit on a screen. A line that is too wide continues in the next. */
export function screenful(shown: string, columns: number, rows: number): string[] {
  const all = shown.split('\n').flatMap((line) => wrapped(line, columns));
  const more = all.length - rows;
  const kept = more > 0 ? [...all.slice(0, Math.max(0, rows - 1)), `… ${more + 1} more lines`] : all;
  const table = new Table({
    colWidths: [columns],
    chars: PLAIN,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...kept.map((line) => [line]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

/** Breaks a line between its words. The rest is indented like its text. */
function wrapped(line: string, columns: number): string[] {
  const indent = /^ {4}\w+: +/.test(line) ? ' '.repeat(RIGHT_OF_LABEL) : '  ';
  const done: string[] = [];
  let now = '';
  for (const word of line.split(/(?<=\S)(?= )/)) {
    if (now !== '' && widthOf(now + word) > columns) {
      done.push(now);
      now = indent + word.trimStart();
    } else {
      now += word;
    }
  }
  return [...done, now];
}

/** Returns the characters of a line, without its colours. */
function widthOf(line: string): number {
  return stripVTControlCharacters(line).length;
}
