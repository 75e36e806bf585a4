// The files that are read.
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Project, ts, type CompilerOptions } from 'ts-morph';
import { DECLARATIONS, DECLARED } from './app/declarations.js';

/** The options of every run: only the code of the app is read, so no package need be installed. */
const OPTIONS: CompilerOptions = {
  noResolve: true,
  types: [],
  lib: ['lib.es2023.d.ts'],
  strict: true,
  allowSyntheticDefaultImports: true,
  esModuleInterop: true,
};

/** Returns a project in memory, for programs that have the files already. */
export function projectOf(files: Readonly<Record<string, string>>): Project {
  const project = new Project({ useInMemoryFileSystem: true, compilerOptions: OPTIONS });
  for (const [path, text] of Object.entries(files)) project.createSourceFile(path, text);
  return declared(project);
}

/** Reads the TypeScript files of folders and single files. Paths of imports are those of a tsconfig.json. */
export function readProject(paths: readonly string[], tsconfig?: string): Project {
  const config = tsconfig ?? ts.findConfigFile(resolve(paths[0] ?? '.'), existsSync);
  const project = new Project({
    ...(config && { tsConfigFilePath: resolve(config) }),
    skipAddingFilesFromTsConfig: true,
    skipFileDependencyResolution: true,
    compilerOptions: OPTIONS,
  });
  for (const path of paths.map((each) => resolve(each))) {
    if (statSync(path).isFile()) project.addSourceFileAtPath(path);
    else {
      const without = ['node_modules', 'dist', 'coverage'].map((folder) => `!${path}/**/${folder}/**`);
      project.addSourceFilesAtPaths([`${path}/**/*.{ts,tsx,mts,cts}`, `!${path}/**/*.d.ts`, ...without]);
    }
  }
  return declared(project);
}

/** Adds what BullMQ and Bull declare. */
function declared(project: Project): Project {
  project.createSourceFile(DECLARATIONS, DECLARED, { overwrite: true });
  return project;
}
