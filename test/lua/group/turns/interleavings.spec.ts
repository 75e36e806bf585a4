import { it } from '@jest/globals';
import { playInterleavings } from '../../../support/invariants/group-interleavings.js';

// test/long/lua has a thousand of them.
it(
  'slots in use equal claims held, over 60 random interleavings with crashes and repeats',
  () => playInterleavings(60),
  60_000,
);
