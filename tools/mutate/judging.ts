// Judges one mutant after another: chooses its test files, runs them, and keeps the result. A mutant of a script gets the specs
// in memory that reach its line. The specs on Redis follow, if their record has the script. A mutant of a source gets the specs that import it, the nearest first.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLines, statementLine, type LinesOfSpec } from './lua-lines.js';
import { say, type Mutant } from './mutant.js';
import { NearestSpecs } from './nearest.js';
import { readRecords, suitesOf, type SpecRecord } from './records.js';
import type { Result, Results } from './results.js';
import type { EndedFile } from './test-process.js';
import type { Workplace } from './workplace.js';

export class Judging {
  private readonly nearest: NearestSpecs;
  private linesOfSpecs: readonly LinesOfSpec[] | undefined;
  private onRedis: readonly SpecRecord[] | undefined;
  /** The mutants behind switches that a spec reaches, by spec. A spec that has not run yet is absent. */
  private readonly reached = new Map<string, ReadonlySet<number>>();

  constructor(
    private readonly root: string,
    drawn: readonly Mutant[],
    private readonly workplace: Workplace,
    private readonly results: Results,
    private readonly seconds: number,
    private readonly onlyInMemory: boolean,
  ) {
    this.nearest = new NearestSpecs(root);
    workplace.switchSources([...drawn.entries()]);
  }

  /** Runs the test files of a mutant until one fails, or the time is over. Prints and keeps the result. */
  async judge(index: number, mutant: Mutant): Promise<Result> {
    const startedAt = performance.now();
    const ended: EndedFile[] = [];
    let suites: string[] = [];
    const failure = await this.workplace.noticedBy([index, mutant], {
      suitesOf: (scripts) => (suites = this.suitesOf(index, mutant, scripts)),
      runsInMemory: (spec) => this.runsInMemory(spec),
      ms: this.seconds * 1_000,
      onEnded: (file) => {
        ended.push(file);
        if (file.hasPassed && this.isRealmShared(file.ended)) this.reached.set(file.ended, new Set(file.reached));
      },
    });
    const reached = ended.filter((file) => file.reached.includes(index)).length;
    const result: Result = {
      index,
      mutant: say(mutant),
      ...failure,
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
      ran: ended.length,
      ...(this.workplace.isSwitched(index) && { reached }),
      leftOut: suites.length - ended.length,
    };
    this.results.add(result);
    const outcome = failure ? `noticed ${result.mutant} by ${failure.by}` : `SURVIVED ${result.mutant}`;
    console.log(`${index} ${outcome} (${result.seconds} s, ${reachOf(result)})`);
    return result;
  }

  private suitesOf(index: number, mutant: Mutant, scripts: ReadonlySet<string>): string[] {
    return mutant.file.endsWith('.lua')
      ? this.specsOfScript(mutant, scripts)
      : this.specsOfSource(index, mutant.file);
  }

  private specsOfScript({ file, from }: Mutant, scripts: ReadonlySet<string>): string[] {
    const line = statementLine(file, readFileSync(join(this.root, file), 'utf8'), from);
    const reaching = this.inMemory.filter(({ lines }) => lines.includes(line));
    const sorted = (records: Parameters<typeof suitesOf>[0]) =>
      suitesOf(records, file, scripts, this.results.noticedIn(file));
    if (this.onlyInMemory) return sorted(reaching);
    this.onRedis ??= readRecords(join(this.root, '.cache/mutate/records'));
    const calling = this.onRedis.filter((record) => record.scripts.some((name) => scripts.has(name)));
    return [...sorted(reaching), ...sorted(calling.filter((record) => !this.runsInMemory(record.file)))];
  }

  /** The specs that have run in memory, with the lines that each reaches. */
  private get inMemory(): readonly LinesOfSpec[] {
    return (this.linesOfSpecs ??= readLines(join(this.root, '.cache/mutate/lines')));
  }

  private runsInMemory(spec: string): boolean {
    return this.inMemory.some(({ file }) => file === spec);
  }

  /** Returns the specs that import a source and reach the mutant. Known ones come first. */
  private specsOfSource(index: number, file: string): string[] {
    const specs = this.nearest.of(file);
    if (!this.workplace.isSwitched(index)) return specs;
    const reaching = specs.filter((spec) => this.reached.get(spec)?.has(index));
    return [...reaching, ...specs.filter((spec) => !this.reached.has(spec))];
  }

  /** Returns whether the library of a spec is that of its process. A spec in another realm tells of no switch. */
  private isRealmShared(spec: string): boolean {
    return !readFileSync(join(this.root, spec), 'utf8').includes('@jest-environment');
  }
}

/** Returns how many test files judged a mutant. */
export function reachOf({ ran, reached, leftOut }: Result): string {
  return `${ran} specs, ${reached === undefined ? '' : `${reached} reach it, `}${leftOut} left out`;
}
