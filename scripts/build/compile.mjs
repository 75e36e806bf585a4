// Compiles src into dist/esm, which it empties before. The types are not checked: `npm run types` does that, for ten times the CPU time.
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../run-child.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Their plain JavaScript is not compiled. Each thread loads it. */
const THREADS = 'worker/threads';

rmSync(join(root, 'dist/esm'), { recursive: true, force: true });
try {
  const tsc = join(root, 'node_modules/typescript7/bin/tsc');
  await runChild(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck'], {
    cwd: root,
    stdio: 'inherit',
  });
  for (const file of readdirSync(join(root, 'src', THREADS)).filter((name) => name.endsWith('.cjs'))) {
    cpSync(join(root, 'src', THREADS, file), join(root, 'dist/esm', THREADS, file));
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
