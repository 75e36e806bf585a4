// apps/worker.ts as it is deployed: compiled, on the library's ES build. It starts in little more than half the time that a loader takes.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll } from '@jest/globals';
import ts from 'typescript';
import { buildShop } from '../../support/browser/shop.js';

const SOURCE = fileURLToPath(new URL('./apps/worker.ts', import.meta.url));
/** Inside of the project, whose package it imports by name. */
export const COMPILED_APP = fileURLToPath(new URL('./apps/dist/worker.js', import.meta.url));

beforeAll(() => {
  buildShop(); // and the library
  const { outputText } = ts.transpileModule(readFileSync(SOURCE, 'utf8'), {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  mkdirSync(dirname(COMPILED_APP), { recursive: true });
  // Several test files may write it at once; each puts a whole file in place.
  writeFileSync(`${COMPILED_APP}.${process.pid}`, outputText);
  renameSync(`${COMPILED_APP}.${process.pid}`, COMPILED_APP);
}, 240_000);
