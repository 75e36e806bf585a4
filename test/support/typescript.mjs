// node --import ./test/support/typescript.mjs FILE.ts: runs TypeScript sources, also the library's own, as a
// development loader does.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
