// Marks dist/cjs as CommonJS: the package itself says "type": "module", which would make Node read the
// CommonJS build as ES modules. And adds what is not compiled (nest-cli.json does so for the ES build).
import { copyFileSync, writeFileSync } from 'node:fs';

const at = (path) => new URL(`../${path}`, import.meta.url);

writeFileSync(at('dist/cjs/package.json'), '{ "type": "commonjs" }\n');
copyFileSync(at('src/worker/threads/thread-entry.cjs'), at('dist/cjs/worker/threads/thread-entry.cjs'));
