// A copy of the project in which mutants run, so that the tree itself never has one.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { readLuaTexts, readTransitions, renderModule } from '../../scripts/build/embed-lua.mjs';
import { runsInMemory } from '../../test/support/memory/on-memory.mjs';
import { firstNoticing } from './first-noticing.js';
import type { Mutant } from './mutant.js';
import { TestProcess, type Failure } from './test-process.js';
import { changedNames, exchangedScripts, type Texts } from './texts.js';

/** The name of the module that carries the scripts. */
const GENERATED = 'src/queue/lua.generated.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage']);

/** The texts of the scripts, and the module that carries them. */
interface Embedded extends Texts {
  readonly module: string;
}

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'mutate-'));
  private readonly made = new Map<string, object>();
  private readonly right: Embedded;
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
    this.right = this.embedded(this.made);
    writeFileSync(join(this.folder, GENERATED), this.right.module);
  }

  /** Returns what notices a mutant: the build, a test file, or a limit. Returns nothing if it survives. */
  async noticedBy(
    mutant: Mutant,
    suitesOf: (scripts: ReadonlySet<string>) => string[],
  ): Promise<Failure | undefined> {
    let changed: Embedded;
    try {
      changed = this.embeddedWith(mutant);
    } catch (error) {
      return { by: `the build: ${(error as Error).message.split('\n')[0]}` };
    }
    const suites = suitesOf(changedNames(this.right, changed));
    if (suites.length === 0) {
      console.error(`No recorded test file executes ${mutant.file}.`);
      return undefined;
    }
    return mutant.file.endsWith('.lua')
      ? await this.runScripts(mutant, changed, suites)
      : await this.runSource(mutant, suites);
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

  private async runScripts({ file, text }: Mutant, changed: Embedded, suites: readonly string[]) {
    const exchanged = exchangedScripts(this.right, changed);
    const noticing = (specs: readonly string[], tests: TestProcess) => {
      const run = async (left: readonly string[]) => {
        await tests.start();
        this.put(file, text, changed);
        const failure = await tests.run(left, exchanged);
        this.put(file, this.rightText(file), this.right);
        return failure;
      };
      return firstNoticing(specs, run, async (failed) => {
        if (await this.passes(failed, tests)) return 'passes';
        await tests.stop();
        return (await this.passes(failed, tests)) ? 'passes in a new process' : 'fails';
      });
    };
    const first = suites.filter(runsInMemory);
    const noticed = await noticing(first, this.inMemory);
    return noticed ?? noticing(this.onlyInMemory ? [] : suites.filter((spec) => !runsInMemory(spec)), this.tests);
  }

  private runSource({ file, text }: Mutant, suites: readonly string[]) {
    const run = async (left: readonly string[]) => {
      await this.tests.stop();
      writeFileSync(join(this.folder, file), text);
      try {
        return await this.tests.run(left, []);
      } finally {
        writeFileSync(join(this.folder, file), this.rightText(file));
        await this.tests.stop();
      }
    };
    return firstNoticing(suites, run, async (failed) => ((await this.passes(failed)) ? 'passes' : 'fails'));
  }

  /** Returns whether a test file passes without a mutant. */
  private async passes(file: string, tests: TestProcess = this.tests): Promise<boolean> {
    return (await tests.run([file], [])) === undefined;
  }

  private put(file: string, text: string, { module }: Embedded): void {
    writeFileSync(join(this.folder, file), text);
    writeFileSync(join(this.folder, GENERATED), module);
  }

  private rightText(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  private embeddedWith({ file, text }: Mutant): Embedded {
    if (!file.endsWith('.lua')) return this.right;
    writeFileSync(join(this.folder, file), text);
    try {
      return this.embedded(new Map(this.made));
    } finally {
      writeFileSync(join(this.folder, file), this.rightText(file));
    }
  }

  private embedded(made: Map<string, object>): Embedded {
    const lua = join(this.folder, 'lua');
    const texts = readLuaTexts(lua, () => undefined, made); // a mutant may need fewer names
    const module = renderModule(texts.scripts, readTransitions(lua), texts.clusterScripts);
    return { ...(texts as Texts), module };
  }
}
