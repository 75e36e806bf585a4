// Bundles a program of the tests with the library into one file. A process then starts in a third of the time. The
// loader of typescript.mjs passes the path of each module through a thread.
import { mkdirSync, renameSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../../', import.meta.url));
const isPackage = (name) => !/^[.#]|^nest-job-queue\b/.test(name) && !isAbsolute(name);

/**
 * Writes the bundle of a program to a file of the project, so that it finds the packages. Returns its path.
 *
 * @param {string} input
 * @param {string} file
 * @param {(name: string) => boolean} external
 */
export async function bundle(input, file, external = isPackage) {
  const target = resolve(root, file);
  const made = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external,
    tsconfig: false,
    // As in transpile-file.mjs.
    transform: { target: 'es2022', decorator: { legacy: true, emitDecoratorMetadata: true } },
    resolve: {
      alias: { 'nest-job-queue$': `${root}src/index.ts`, 'nest-job-queue': `${root}src` },
      extensionAlias: { '.js': ['.ts', '.js'] },
      extensions: ['.ts', '.js'],
    },
  });
  // Several runs may do this at once; each puts a whole file in place.
  mkdirSync(dirname(target), { recursive: true });
  await made.write({ file: `${target}.${process.pid}`, format: 'esm', codeSplitting: false });
  await made.close();
  renameSync(`${target}.${process.pid}`, target);
  return target;
}
