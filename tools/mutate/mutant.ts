// One small change of the sources, which a test should notice.

export interface Mutant {
  /** The path in the project. */
  readonly file: string;
  readonly line: number;
  /** The place of the change in the file, in characters. */
  readonly from: number;
  /** The name of the rule that made it. */
  readonly operator: string;
  readonly before: string;
  readonly after: string;
  /** The whole file with the change. */
  readonly text: string;
}

/** A replacement of the characters from `from` to `to`. */
export interface Edit {
  readonly operator: string;
  readonly from: number;
  readonly to: number;
  readonly after: string;
}

/** Returns the mutants of a file, in the order of its lines. */
export function mutantsBy(file: string, text: string, edits: readonly Edit[]): Mutant[] {
  return edits
    .toSorted((one, other) => one.from - other.from)
    .map(({ operator, from, to, after }) => ({
      file,
      line: text.slice(0, from).split('\n').length,
      from,
      operator,
      before: text.slice(from, to),
      after,
      text: text.slice(0, from) + after + text.slice(to),
    }));
}

/** Returns a mutant as a line of a report. It names the mutant the same in each run. */
export function say({ file, line, operator, before, after }: Mutant): string {
  return `${file}:${line} ${operator}: ${short(before)} => ${short(after)}`;
}

function short(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 70) || '(nothing)';
}
