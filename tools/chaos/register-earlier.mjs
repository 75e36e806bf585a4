// node --import ./tools/chaos/register-earlier.mjs FILE.ts
// As register.mjs does, but the library is the earlier version, whatever imports it.
import './register.mjs';
import { register } from 'node:module';

const { earlierVersion } = await import('../../test/support/queue/earlier-version.ts');
register('./earlier-hooks.mjs', import.meta.url, { data: earlierVersion() });
