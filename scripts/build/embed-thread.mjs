// Bundles src/worker/threads/thread-values.ts as CommonJS for the threads, which load it beside thread-entry.cjs. Both
// builds and the sources use that file. Does nothing while its sources are those of the last build.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = join(root, 'src/worker/threads/thread-values.ts');
const generated = join(root, 'src/worker/threads/thread-values.generated.cjs');

/** Returns the digest of the files that a bundle was made of. */
function digestOf(files) {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function isCurrent() {
  const [, digest, files] = /^\/\/ (\w+) (.+)$/m.exec(readFileSync(generated, 'utf8')) ?? [];
  const list = files?.split(' ') ?? [];
  return list.length > 0 && list.every((file) => existsSync(join(root, file))) && digest === digestOf(list);
}

async function bundle() {
  const { rolldown } = await import('rolldown');
  const bundler = await rolldown({
    input: source,
    platform: 'node',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await bundler.generate({ format: 'cjs', comments: false, esModule: false, keepNames: true });
  await bundler.close();
  return output[0];
}

if (!existsSync(generated) || !isCurrent()) {
  const { code, moduleIds } = await bundle();
  const files = moduleIds.filter((id) => id.startsWith(root)).map((id) => id.slice(root.length));
  // At once, because another run of this script may do the same.
  const draft = `${generated}.${process.pid}`;
  writeFileSync(draft, `// ${digestOf(files)} ${files.join(' ')}\n${code}`);
  renameSync(draft, generated);
}
