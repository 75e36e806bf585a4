// What a terminal shows of an output, as far as the command line uses one.

const ESCAPE = '\u001B';
/** A control sequence, or one character. */
const PART = new RegExp(`${ESCAPE}\\[(\\??[\\d;]*)([A-Za-z])|[^]`, 'gu');

/** A screen of `columns` and `rows`. */
export class Screen {
  readonly lines: string[];
  isCursorShown = true;
  /** The number of times it scrolled: a live view that scrolls is too high. */
  scrolled = 0;
  /** The first screen, while a second one is shown. */
  private first: string[] = [];
  private row = 0;
  private column = 0;

  constructor(
    readonly columns: number,
    readonly rows: number,
    output: string,
  ) {
    this.lines = Array.from({ length: rows }, () => '');
    for (const [part] of output.matchAll(PART)) {
      if (part.length > 2) this.obey(part);
      else this.put(part);
    }
  }

  private obey(sequence: string): void {
    const at = this.lines[this.row]!;
    switch (sequence.slice(2)) {
      case 'H':
        this.row = this.column = 0;
        break;
      case 'K':
        this.lines[this.row] = at.slice(0, this.column);
        break;
      case 'J':
        this.lines[this.row] = at.slice(0, this.column);
        this.lines.fill('', this.row + 1);
        break;
      case '2J':
        this.lines.fill('');
        break;
      case '?1049h':
        this.first = [...this.lines];
        this.lines.fill('');
        break;
      case '?1049l':
        this.lines.splice(0, this.rows, ...this.first);
        break;
      case '?25l':
        this.isCursorShown = false;
        break;
      case '?25h':
        this.isCursorShown = true;
        break;
      default:
        if (!sequence.endsWith('m')) throw new Error(`a sequence that is not known: ${JSON.stringify(sequence)}`);
    }
  }

  private put(character: string): void {
    if (character === '\r') {
      this.column = 0;
    } else if (character === '\n') {
      this.nextRow();
    } else {
      if (this.column >= this.columns) {
        this.column = 0;
        this.nextRow();
      }
      const line = this.lines[this.row]!.padEnd(this.column);
      this.lines[this.row] = line.slice(0, this.column) + character + line.slice(this.column + 1);
      this.column++;
    }
  }

  private nextRow(): void {
    if (this.row < this.rows - 1) {
      this.row++;
    } else {
      this.lines.push('');
      this.lines.shift();
      this.scrolled++;
    }
  }
}
