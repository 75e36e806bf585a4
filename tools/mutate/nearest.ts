// Finds the test files of a source without a run of them. It goes by their imports, and by the names of files and folders.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { specsWithoutServer } from '../../test/support/without-server.mjs';

/** An import that loads a file. One of types alone does not. */
const IMPORT =
  /^(?:import|export)\s(?!type\s)[^'";]*'([.#][^']+|nest-job-queue[^']*)'|\bimport\('([.#][^']+|nest-job-queue[^']*)'\)/gm;

/** The specs that a mutant does not run. They need a browser or a package, take minutes, or are about these tools. */
const LEFT_OUT = /^(test\/(browser|long|package|bench)|tools)\//;

/** A spec that needs a server, or a whole app, takes longer. So its distance grows by this number of imports. */
const WITH_SERVER = 2;
const WITH_APP = 4;

/** A spec with the name of the file counts as this many imports nearer. So does one in a folder of the same name. */
const SAME_NAME = 3;
const SAME_FOLDER = 2;

export class NearestSpecs {
  private readonly importers = new Map<string, string[]>();
  private readonly withoutServer: ReadonlySet<string>;

  constructor(private readonly root: string) {
    this.withoutServer = new Set(specsWithoutServer(root, ['test']));
    for (const folder of ['src', 'test']) {
      for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
        const file = `${folder}/${name}`;
        if (!file.endsWith('.ts') || LEFT_OUT.test(file)) continue;
        for (const imported of this.importsOf(file)) {
          this.importers.set(imported, [...(this.importers.get(imported) ?? []), file]);
        }
      }
    }
  }

  /** Returns the specs that import a file, at any depth, the nearest first. */
  of(file: string): string[] {
    const hops = new Map([[file, 0]]);
    // A map shows its entries in their order. Entries that the loop adds come too.
    for (const [each, distance] of hops) {
      for (const importer of this.importers.get(each) ?? []) {
        if (!hops.has(importer)) hops.set(importer, distance + 1);
      }
    }
    const specs = [...hops.keys()].filter((each) => each.endsWith('.spec.ts'));
    const cost = (spec: string) =>
      this.withoutServer.has(spec) ? 0 : /\.e2e\.|cluster/.test(spec) ? WITH_APP : WITH_SERVER;
    const farness = new Map(specs.map((spec) => [spec, hops.get(spec)! - likeness(file, spec) + cost(spec)]));
    return specs.toSorted((one, other) => farness.get(one)! - farness.get(other)!);
  }

  private importsOf(file: string): string[] {
    const text = readFileSync(join(this.root, file), 'utf8');
    return [...text.matchAll(IMPORT)].flatMap(([, name, lazyName]) => {
      const path = this.pathOf(file, (name ?? lazyName)!).replace(/\.js$/, '.ts');
      return existsSync(join(this.root, path)) ? [path] : [];
    });
  }

  private pathOf(file: string, name: string): string {
    if (name.startsWith('#')) return `src/${name.slice(1)}`;
    const entry = /^nest-job-queue(?:\/(.*))?$/.exec(name);
    if (entry) return `src/${entry[1]?.replace('/', '-') ?? 'index'}.ts`;
    return relative(this.root, join(this.root, dirname(file), name));
  }
}

/** Returns how much the path of a spec has of the path of a source. */
function likeness(file: string, spec: string): number {
  const [name, ...folders] = file.replace(/\.ts$/, '').split('/').toReversed();
  const [specName, ...specFolders] = spec
    .replace(/(\.e2e)?\.spec\.ts$/, '')
    .split('/')
    .toReversed();
  const shared = folders.filter((folder) => folder !== 'src' && specFolders.includes(folder)).length;
  return (name === specName ? SAME_NAME : 0) + (shared > 0 ? (SAME_FOLDER * shared) / (folders.length - 1) : 0);
}
