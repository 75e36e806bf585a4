// Transpiles for Jest.
import { transpile } from './transpile-file.mjs';

export default { process: (source, path) => transpile(path, source) };
