import type { Mark } from '../inspect/marks.js';
import type { HostProcess, OutputStream } from './host-process.js';
import { fitted, screenful, type TableLayout } from './table.js';
import { ago, clipped, type Part, printableJson, printableText, Text, text, valueOf, when } from './text.js';

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
