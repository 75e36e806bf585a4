// Marks dist/cjs as CommonJS: the package itself says "type": "module", which would make Node read the
// CommonJS build as ES modules.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('../dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');
