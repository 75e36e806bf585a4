import Table from 'cli-table3';
import type { Severity } from '../inspect/queue-signs.js';
import { oneLine } from '../queue/errors/one-line.js';

/** The most characters of one cell; an id or an error may be of any length. */
const LONGEST_CELL = 120;

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
  middle: '  ',
};

const COLORS = { green: 32, cyan: 36, yellow: 33, red: 31, dim: 2 } as const;

const SIGNS: Readonly<Record<Severity, [shape: string, color: keyof typeof COLORS]>> = {
  ok: ['●', 'green'],
  notice: ['◐', 'cyan'],
  warning: ['▲', 'yellow'],
  critical: ['✕', 'red'],
};

export type Cell = string | number;

/** Writes to the terminal or the pipe: as text for people, or as JSON for programs. */
export class Output {
  constructor(
    private readonly stream: NodeJS.WriteStream,
    readonly json: boolean,
  ) {}

  /** JSON where it was asked for, else what `text` makes. What comes from Redis is escaped in both. */
  show(value: unknown, text: () => string): void {
    this.write(this.json ? JSON.stringify(value, null, this.isTerminal ? 2 : undefined) : text());
  }

  write(text: string): void {
    this.stream.write(`${text}\n`);
  }

  /** Puts text where the last one was, without a flicker; on a pipe below it. */
  redraw(text: string): void {
    if (this.isTerminal && !this.json) {
      const lines = text.split('\n').map((line) => `${line}\u001B[K`);
      this.stream.write(`\u001B[H${lines.join('\n')}\n\u001B[J`);
    } else {
      this.write(text);
    }
  }

  clear(): void {
    if (this.isTerminal && !this.json) {
      this.stream.write('\u001B[2J');
    }
  }

  get isTerminal(): boolean {
    return this.stream.isTTY;
  }

  /** A shape, coloured on a terminal; the shape says it alone too. */
  sign(severity: Severity): string {
    const [shape, color] = SIGNS[severity];
    return this.color(color, shape);
  }

  color(color: keyof typeof COLORS, text: string): string {
    const wanted = this.isTerminal && !process.env['NO_COLOR'];
    return wanted ? `\u001B[${COLORS[color]}m${text}\u001B[0m` : text;
  }
}

/** Text from Redis as one line without control characters: nothing in a job may steer the terminal. */
export function safe(text: string, longest = LONGEST_CELL): string {
  return oneLine(text, longest);
}

/** Columns without lines; numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const colAligns = head.map((_, i) => (rows.some((row) => typeof row[i] === 'number') ? 'right' : 'left'));
  const made = new Table({
    head: [...head],
    colAligns: colAligns,
    chars: PLAIN,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  made.push(...rows.map((row) => row.map(String)));
  return made
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
