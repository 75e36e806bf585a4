import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import type { Mark } from '../inspect/marks.js';
import { short } from '../queue/runtime/cut.js';
import type { HostProcess, OutputStream } from './host-process.js';
import {
  ago,
  clipped,
  type Part,
  printableJson,
  printableText,
  Text,
  text,
  valueOf,
  when,
  LONGEST_PART,
} from './text.js';

const COLORS: Readonly<Record<Mark['color'], number>> = {
  green: 32,
  cyan: 36,
  yellow: 33,
  red: 31,
  blue: 34,
  magenta: 35,
  dim: 2,
};

/** Writes to the terminal or the pipe: as text for people, or as JSON for programs. */
export class Output {
  private readonly stream: OutputStream;
  private isRepeated = false;

  constructor(
    private readonly host: HostProcess,
    readonly json: boolean,
    /** The lead of the server's clock over this machine's, in ms. */
    private readonly skewMs: number,
  ) {
    this.stream = host.stdout;
  }

  /** The time of the server, in ms of the epoch. The clock of an operator's machine may be wrong. */
  get nowMs(): number {
    return Date.now() + this.skewMs;
  }

  /** Returns an instant relative to now in words. */
  ago(at: Date | null | undefined): string {
    return ago(at, this.nowMs);
  }

  /** Returns an instant relative to now, and exactly. */
  when(at: Date | null | undefined): string {
    return when(at, this.nowMs);
  }

  /** Returns a part as one line, of bounded length on a terminal. On a pipe it is not cut. */
  clipped(part: string, longest: number): Text {
    return this.isTerminal ? clipped(part, longest) : text`${part}`;
  }

  /** Prints the result of a command: as JSON if asked, else the text of `words`. */
  show(value: unknown, words: () => Part): void {
    const indent = this.isTerminal ? 2 : undefined;
    this.write(this.json ? printableJson(value, indent) : valueOf(words()));
  }

  /** Shows one of many answers: JSON on a line of its own. */
  line(value: unknown, words: () => Part): void {
    this.write(this.json ? printableJson(value) : valueOf(words()));
  }

  /** Shows a piece of a text of many lines as it comes; JSON on a line of its own. */
  piece(value: unknown, words: string): void {
    this.stream.write(this.json ? `${printableJson(value)}\n` : printableText(words));
  }

  /** Tells a person what the command does, beside its output. */
  tell(shown: string): void {
    this.host.stderr.write(`${shown}\n`);
  }

  /** Tells which shards did not reply, with the reason of each. */
  tellUnreached(shards: ReadonlyMap<string, string>): void {
    const [reason] = shards.values();
    const words = text`Not reached: ${[...shards.keys()].join(', ')} (${reason!}). Repeat this command when they are back.`;
    this.tell(this.json ? printableJson({ unreached: Object.fromEntries(shards) }) : words.value);
  }

  /** Tells a person how a list goes on that has as many entries as were asked for. */
  tellOfMore(found: number, { limit, offset }: { limit: number; offset: number }): void {
    if (!this.json && found > 0 && found === limit) {
      this.tell(`There may be more: --offset ${offset + limit}.`);
    }
  }

  /** Replaces the last text without a flicker, cut to the screen. On a pipe the text goes below it, after an empty line. */
  redraw(value: unknown, words: () => Part): void {
    if (!this.hasScreen) {
      if (this.isRepeated && !this.json) this.write('');
      this.isRepeated = true;
      this.line(value, words);
      return;
    }
    // A terminal that does not know its size says 0.
    const [columns, rows] = [this.stream.columns || 80, this.stream.rows || 24];
    const shown = screenful(valueOf(words()), columns, rows - 1).map((line) => `${line}\u001B[K`);
    this.stream.write(`\u001B[H${shown.join('\n')}\n\u001B[J`);
  }

  /** Leaves the last text of a live view below what was on the terminal before. On a pipe it is there already. */
  keep(value: unknown, words: () => Part): void {
    if (this.hasScreen) {
      this.show(value, words);
    }
  }

  /**
   * Switches to a second screen, and hides the cursor. Returns the way back to the first one, as it was. The end of the
   * process goes that way, too.
   */
  holdScreen(): () => void {
    if (!this.hasScreen) {
      return () => undefined;
    }
    const release = () => {
      process.off('exit', release);
      this.stream.write('\u001B[?25h\u001B[?1049l');
    };
    process.on('exit', release);
    this.stream.write('\u001B[?1049h\u001B[?25l\u001B[2J');
    return release;
  }

  /** Returns a table: columns without lines, numbers to the right. On a terminal it fits the width. */
  table(head: readonly string[], rows: readonly (readonly Part[])[], layout: TableLayout = {}): Text {
    return fitted(head, rows, this.isTerminal ? this.stream.columns || undefined : undefined, layout);
  }

  private get hasScreen(): boolean {
    return this.isTerminal && !this.json;
  }

  get isTerminal(): boolean {
    return this.stream.isTTY === true;
  }

  /** Returns the sign of a mark, coloured on a terminal; the sign says it alone too. */
  sign({ sign, color }: Mark): Text {
    return this.color(color, sign);
  }

  color(color: Mark['color'], part: Part): Text {
    const wanted = this.isTerminal && !this.host.env['NO_COLOR'];
    const shown = valueOf(part);
    return new Text(wanted ? `\u001B[${COLORS[color]}m${shown}\u001B[0m` : shown);
  }

  private write(shown: string): void {
    this.stream.write(`${shown}\n`);
  }
}

/** The minimum width of a column of text, in characters. */
const NARROWEST = 8;
const COLUMN_GAP = 2;
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
  middle: ' '.repeat(COLUMN_GAP),
};

/** The options of fitting a table; columns are named by their heads. */
interface TableLayout {
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
  const { shown, widths } = drawTable(head, cells, numeric);
  const excess = widths.reduce((sum, each) => sum + each, COLUMN_GAP * (widths.length - 1)) - (width ?? Infinity);
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
  return drawTable(head, cut, numeric, now).shown;
}

function drawTable(
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
