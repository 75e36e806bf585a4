// node --import ./tools/chaos/register.mjs FILE.ts
// Runs TypeScript sources as they are, and the supports of the tests outside of jest.
import { register } from 'node:module';

register('../../test/support/typescript-hooks.mjs', import.meta.url);
register('./outside-jest-hooks.mjs', import.meta.url);
