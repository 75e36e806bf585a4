// node --import ./test/support/typescript.mjs FILE.ts
// Runs TypeScript sources as they are, the library's own included, as tsx and the like do it.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
