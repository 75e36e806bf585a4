import { it } from '@jest/globals';
import { playInterleavings } from '../../support/invariants/group-interleavings.js';

it(
  'slots in use equal claims held, over 1,000 random interleavings with crashes and repeats',
  () => playInterleavings(1_000),
  600_000,
);
