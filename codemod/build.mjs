// Bundles the command into one file. Its packages are those of the repository.
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const bundler = await rolldown({
  input: at('src/cli.ts'),
  platform: 'node',
  external: ['ts-morph', 'diff', /^node:/],
});
await bundler.write({ file: at('dist/cli.js'), format: 'es' });
await bundler.close();
chmodSync(at('dist/cli.js'), 0o755);
