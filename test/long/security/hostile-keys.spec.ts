// Every key of a queue, spoiled in every way; test/security has a share of it.
import { it } from '@jest/globals';
import { attackKeys } from '../../security/key-attack.js';
import { Windows } from '../../security/windows.js';

it('breaks no window, shows no secret, and changes nothing', async () => {
  await attackKeys(await new Windows().open(), 1);
}, 600_000);
