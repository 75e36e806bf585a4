// The results of a run, a line for each mutant. An interrupted run goes on behind them.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Failure } from './test-process.js';

export interface Result extends Partial<Failure> {
  /** The place in the draw, from 0. */
  readonly index: number;
  /** The mutant as a line of a report. */
  readonly mutant: string;
  readonly seconds: number;
  /** How many test files ran to their end. */
  readonly ran: number;
  /** How many of them reach it. Known of a mutant behind a switch. */
  readonly reached?: number;
  /** How many test files the time left out. */
  readonly leftOut: number;
}

export class Results {
  private readonly byIndex: Map<number, Result>;

  constructor(private readonly file: string) {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    const results = lines.filter(Boolean).map((line) => JSON.parse(line) as Result);
    this.byIndex = new Map(results.map((result) => [result.index, result]));
    mkdirSync(dirname(file), { recursive: true });
  }

  /** Returns the result of a mutant. @throws Error if another mutant has its place: the sources have changed since */
  of(index: number, mutant: string): Result | undefined {
    const result = this.byIndex.get(index);
    if (result === undefined || result.mutant === mutant) return result;
    throw new Error(
      `${this.file}: expected ${mutant} as mutant ${index}, found ${result.mutant}. ` +
        'The sources have changed: delete the file, or check out the commit of the draw.',
    );
  }

  add(result: Result): void {
    this.byIndex.set(result.index, result);
    appendFileSync(this.file, `${JSON.stringify(result)}\n`);
  }

  /** Returns how many mutants of a source each test file has noticed. */
  noticedIn(source: string): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { by, mutant } of this.byIndex.values()) {
      if (by !== undefined && mutant.startsWith(`${source}:`)) counts.set(by, (counts.get(by) ?? 0) + 1);
    }
    return counts;
  }
}
