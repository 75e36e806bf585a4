// node --import ./test/soak/register-earlier.mjs FILE.ts
// As register.mjs does, but the library is the earlier version, whatever imports it.
import './register.mjs';
import { register } from 'node:module';

const { earlierVersion } = await import('../support/earlier-version.ts');
register('./earlier-hooks.mjs', import.meta.url, { data: earlierVersion() });
