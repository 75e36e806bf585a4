// node --import ./test/support/typescript.mjs FILE.ts
// Runs TypeScript sources as they are, the library's own included, as a loader for development does it.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
