// A copy of the project in which mutants run, so that the tree itself never has one.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import {
  readLuaTexts,
  readTransitions,
  renderDigests,
  renderModule,
  withoutDigests,
} from '../../scripts/build/embed-lua.mjs';
import { firstNoticing, type Repeated } from './first-noticing.js';
import type { Mutant } from './mutant.js';
import { switchedSource, type Numbered } from './switched-sources.js';
import { TestProcess, type EndedFile, type Failure } from './test-process.js';
import { changedNames, exchangedScripts, type Texts } from './texts.js';

/** The name of the module that carries the scripts. */
const GENERATED = 'src/queue/lua.generated.ts';
const DIGESTS = 'src/queue/digests.generated.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage']);

/** The texts of the scripts, and the module that carries them. */
interface Embedded extends Texts {
  readonly module: string;
}

/** The tests of one mutant. */
export interface Judges {
  /** Returns the test files of some changed scripts, or of a source, in their order. */
  readonly suitesOf: (scripts: ReadonlySet<string>) => string[];
  /** Returns whether a test file of a script runs on the server in memory. */
  readonly runsInMemory: (spec: string) => boolean;
  /** After this time in ms no further test file begins. */
  readonly ms: number;
  readonly onEnded?: (file: EndedFile) => void;
}

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'mutate-'));
  private readonly made = new Map<string, object>();
  private rightTexts: Embedded | undefined;
  /** The sources with mutants behind switches, by file. */
  private readonly switched = new Map<string, string>();
  private readonly numbers = new Set<number>();
  /** The test files that failed without a mutant. They are left out from then on. */
  private readonly failing = new Set<string>();
  private readonly tests = new TestProcess(this.folder);
  private readonly inMemory = new TestProcess(this.folder, 'memory');

  /** @param onlyInMemory whether mutants of scripts run their specs in memory, and no other test file */
  constructor(
    private readonly root: string,
    private readonly onlyInMemory = false,
  ) {
    cpSync(root, this.folder, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path === root || !LEFT_OUT.has(basename(path)),
    });
    // Jest shares the modules of the project's own node_modules only, so a link does not do.
    execFileSync('cp', ['-Rl', join(root, 'node_modules'), join(this.folder, 'node_modules')]);
    // The changed texts get their digests at their first use.
    const { scripts, clusterScripts } = readLuaTexts(join(root, 'lua'), () => undefined);
    writeFileSync(join(this.folder, DIGESTS), withoutDigests(renderDigests(scripts, clusterScripts)));
  }

  /** Puts the mutants of sources behind switches, as many as can be. It comes before the first mutant runs. */
  switchSources(mutants: readonly Numbered[]): void {
    const files = new Set(mutants.map(([, { file }]) => file).filter((file) => !file.endsWith('.lua')));
    for (const file of files) {
      const ofFile = mutants.filter(([, mutant]) => mutant.file === file);
      const { text, numbers } = switchedSource(this.rightText(file), ofFile);
      this.switched.set(file, text);
      for (const number of numbers) this.numbers.add(number);
      writeFileSync(join(this.folder, file), text);
    }
  }

  /** Returns whether a mutant is behind a switch. Then the specs say whether they reach it. */
  isSwitched(index: number): boolean {
    return this.numbers.has(index);
  }

  /** Returns what notices a mutant: the build, a test file, or a limit. Returns nothing if it survives. */
  async noticedBy([index, mutant]: Numbered, judges: Judges): Promise<Failure | undefined> {
    if (mutant.file.endsWith('.lua')) return await this.scriptNoticedBy(mutant, judges);
    const suites = judges.suitesOf(new Set());
    return this.isSwitched(index)
      ? await this.runSwitched(index, suites, judges)
      : await this.runSource(mutant, suites, judges);
  }

  /** Changes each script and library of the copy, and embeds them. */
  changeScripts(change: (file: string, text: string) => string): void {
    for (const name of readdirSync(join(this.folder, 'lua'), { recursive: true, encoding: 'utf8' })) {
      const file = `lua/${name}`;
      if (name.endsWith('.lua')) writeFileSync(join(this.folder, file), change(file, this.rightText(file)));
    }
    writeFileSync(join(this.folder, GENERATED), this.embedded(new Map()).module);
  }

  /** Ends a run, and removes the copy. */
  async close(): Promise<void> {
    await Promise.all([this.tests.stop(), this.inMemory.stop()]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  private async scriptNoticedBy(
    mutant: Mutant,
    { suitesOf, runsInMemory, ms, onEnded }: Judges,
  ): Promise<Failure | undefined> {
    const { file, text } = mutant;
    let changed: Embedded;
    try {
      changed = this.embeddedWith(mutant);
    } catch (error) {
      return { by: `the build: ${(error as Error).message.split('\n')[0]}` };
    }
    const suites = this.sound(suitesOf(changedNames(this.right, changed)));
    const scripts = exchangedScripts(this.right, changed);
    await this.inMemory.start(); // a start on a busy machine takes a minute, which counts for no mutant
    const until = performance.now() + ms;
    const noticing = (specs: readonly string[], tests: TestProcess) => {
      const run = async (files: readonly string[], msLeft: number) => {
        await tests.start();
        this.put(file, text, changed);
        const failure = await tests.run({ files, scripts, ms: msLeft, onEnded });
        this.put(file, this.rightText(file), this.right);
        return failure;
      };
      return firstNoticing(specs, until - performance.now(), run, (failed) => this.repeated(failed, tests, until));
    };
    const noticed = await noticing(suites.filter(runsInMemory), this.inMemory);
    if (noticed || this.onlyInMemory) return noticed;
    return noticing(
      suites.filter((spec) => !runsInMemory(spec)),
      this.tests,
    );
  }

  /** Switches a mutant on in a process that other mutants use too. A spec that fails and does not reach it notices nothing. */
  private async runSwitched(mutant: number, suites: readonly string[], { ms, onEnded }: Judges) {
    await this.tests.start();
    const reaching = new Set<string>();
    const noteEnded = (file: EndedFile) => {
      if (file.reached.includes(mutant)) reaching.add(file.ended);
      onEnded?.(file);
    };
    const run = (files: readonly string[], msLeft: number) =>
      this.tests.run({ files, mutant, ms: msLeft, onEnded: noteEnded });
    const until = performance.now() + ms;
    return firstNoticing(this.sound(suites), ms, run, async (failed) =>
      reaching.has(failed) ? this.repeated(failed, this.tests, until) : 'fails',
    );
  }

  private runSource({ file, text }: Mutant, suites: readonly string[], { ms }: Judges) {
    const run = async (files: readonly string[], msLeft: number) => {
      await this.tests.stop();
      writeFileSync(join(this.folder, file), text);
      try {
        return await this.tests.run({ files, ms: msLeft });
      } finally {
        writeFileSync(join(this.folder, file), this.switched.get(file) ?? this.rightText(file));
        await this.tests.stop();
      }
    };
    return firstNoticing(this.sound(suites), ms, run, async (failed) => {
      return (await this.passes(failed)) ? 'passes' : this.noteFailing(failed);
    });
  }

  /** Returns what a failed test file does without a mutant. Until its time is over, a new process repeats it too. */
  private async repeated(failed: string, tests: TestProcess, until: number): Promise<Repeated> {
    if (await this.passes(failed, tests)) return 'passes';
    await tests.stop();
    if (performance.now() > until) return 'fails';
    return (await this.passes(failed, tests)) ? 'passes in a new process' : this.noteFailing(failed);
  }

  private noteFailing(spec: string): 'fails' {
    this.failing.add(spec);
    return 'fails';
  }

  private sound(specs: readonly string[]): string[] {
    return specs.filter((spec) => !this.failing.has(spec));
  }

  /** Returns whether a test file passes without a mutant. */
  private async passes(file: string, tests: TestProcess = this.tests): Promise<boolean> {
    return (await tests.run({ files: [file] })) === undefined;
  }

  private put(file: string, text: string, { module }: Embedded): void {
    writeFileSync(join(this.folder, file), text);
    writeFileSync(join(this.folder, GENERATED), module);
  }

  private rightText(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  private embeddedWith({ file, text }: Mutant): Embedded {
    void this.right; // made first, so that each mutant makes only what it changes
    writeFileSync(join(this.folder, file), text);
    try {
      return this.embedded(new Map(this.made));
    } finally {
      writeFileSync(join(this.folder, file), this.rightText(file));
    }
  }

  /** The scripts without a mutant. They are made at the first use, because that takes seconds. */
  private get right(): Embedded {
    return (this.rightTexts ??= this.embedded(this.made));
  }

  private embedded(made: Map<string, object>): Embedded {
    const lua = join(this.folder, 'lua');
    const texts = readLuaTexts(lua, () => undefined, made); // a mutant may need fewer names
    const module = renderModule(texts.scripts, readTransitions(lua), texts.clusterScripts);
    return { ...(texts as Texts), module };
  }
}
