// Bundles the command line with its imports into one file, once per test run. That halves the start of a command.
import { renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../../', import.meta.url));
const file = `${root}.cache/cli/cli.mjs`;

export async function bundleCli() {
  const bundle = await rolldown({
    cwd: root,
    input: 'src/cli.ts',
    platform: 'node',
    tsconfig: false,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  });
  // Several runs may do this at once; each puts a whole file in place.
  await bundle.write({ file: `${file}.${process.pid}`, format: 'esm', codeSplitting: false });
  await bundle.close();
  renameSync(`${file}.${process.pid}`, file);
}
