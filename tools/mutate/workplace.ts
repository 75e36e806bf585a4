// A copy of the project in which mutants run, so that the tree itself never has one.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { LuaScriptName } from '#queue/lua.generated.js';
import { changesJobs, framed } from '#queue/transport/audited-script.js';
import { readLuaScripts, readTransitions, renderModule } from '../../scripts/build/embed-lua.mjs';
import type { Mutant } from './mutant.js';
import { scriptDigest } from './jest/script-digest.mjs';
import { TestProcess, type ExchangedScript, type Failure } from './test-process.js';

/** The name of the module that carries the scripts. */
const GENERATED = 'src/queue/lua.generated.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage']);

type Scripts = Record<LuaScriptName, string>;

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'mutate-'));
  private readonly made = new Map<string, object>();
  private readonly scripts: Scripts;
  private readonly tests = new TestProcess(this.folder);

  constructor(private readonly root: string) {
    cpSync(root, this.folder, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path === root || !LEFT_OUT.has(basename(path)),
    });
    // Jest shares the modules of the project's own node_modules only, so a link does not do.
    execFileSync('cp', ['-Rl', join(root, 'node_modules'), join(this.folder, 'node_modules')]);
    this.scripts = this.readScripts(this.made);
    this.embed(this.scripts);
  }

  /** Returns what notices a mutant: the build, a test file, or a limit. Returns nothing if it survives. */
  async noticedBy(
    mutant: Mutant,
    suitesOf: (scripts: ReadonlySet<string>) => string[],
  ): Promise<Failure | undefined> {
    let changed: Scripts;
    try {
      changed = this.scriptsWith(mutant);
    } catch (error) {
      this.put(mutant.file, this.rightText(mutant.file), this.scripts);
      return { by: `the build: ${(error as Error).message.split('\n')[0]}` };
    }
    const names = namesOf(changed).filter((name) => changed[name] !== this.scripts[name]);
    const suites = suitesOf(new Set(names));
    if (suites.length === 0) return undefined;
    return mutant.file.endsWith('.lua')
      ? await this.runScripts(mutant, changed, suites, this.exchanged(changed, new Set(names)))
      : await this.runSource(mutant, suites);
  }

  /** Ends a run, and removes the copy. */
  async close(): Promise<void> {
    await this.tests.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /**
   * Runs the tests of a mutant of the scripts. A failed test must pass without it, because earlier mutants may have left
   * something behind in the process. If it does not pass, a new process tells.
   */
  private async runScripts(
    { file, text }: Mutant,
    changed: Scripts,
    suites: string[],
    exchanged: ExchangedScript[],
  ): Promise<Failure | undefined> {
    for (let left = suites; left.length > 0;) {
      await this.tests.start();
      this.put(file, text, changed);
      const failure = await this.tests.run(left, exchanged);
      this.put(file, this.rightText(file), this.scripts);
      if (failure === undefined || !suites.includes(failure.by)) return failure;
      if ((await this.tests.run([failure.by], [])) === undefined) return failure;
      await this.tests.stop();
      if ((await this.tests.run([failure.by], [])) !== undefined)
        left = left.filter((suite) => suite !== failure.by);
    }
    return undefined;
  }

  private async runSource({ file, text }: Mutant, suites: readonly string[]): Promise<Failure | undefined> {
    await this.tests.stop();
    writeFileSync(join(this.folder, file), text);
    try {
      return await this.tests.run(suites, []);
    } finally {
      writeFileSync(join(this.folder, file), this.rightText(file));
      await this.tests.stop();
    }
  }

  private put(file: string, text: string, scripts: Scripts): void {
    writeFileSync(join(this.folder, file), text);
    this.embed(scripts);
  }

  private embed(scripts: Scripts): void {
    writeFileSync(join(this.folder, GENERATED), renderModule(scripts, readTransitions(join(this.folder, 'lua'))));
  }

  private rightText(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  private scriptsWith({ file, text }: Mutant): Scripts {
    if (!file.endsWith('.lua')) return this.scripts;
    writeFileSync(join(this.folder, file), text);
    return this.readScripts(new Map(this.made));
  }

  /** Returns the changed scripts in each form in which they are sent: bare, without flags, and with the audit trail. */
  private exchanged(changed: Scripts, names: ReadonlySet<string>): ExchangedScript[] {
    const isFrameChanged = names.has('auditFrame');
    return namesOf(changed).flatMap((name) => {
      const forms: ((scripts: Scripts) => string)[] = [];
      if (names.has(name))
        forms.push(
          (scripts) => scripts[name],
          (scripts) => scripts[name].replace(/^#!.*\n/, ''),
        );
      if ((names.has(name) || isFrameChanged) && changesJobs(name)) forms.push((scripts) => framed(name, scripts));
      return forms.map((form): ExchangedScript => [scriptDigest(form(this.scripts)), form(changed)]);
    });
  }

  private readScripts(made: Map<string, object>): Scripts {
    return readLuaScripts(join(this.folder, 'lua'), () => undefined, made) as Scripts; // a mutant may need fewer names
  }
}

function namesOf(scripts: Scripts): LuaScriptName[] {
  return Object.keys(scripts) as LuaScriptName[];
}
