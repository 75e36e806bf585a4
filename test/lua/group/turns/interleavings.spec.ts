import { it } from '@jest/globals';
import { playInterleavings } from '../../../support/invariants/group-interleavings.js';
import { casesOf } from '../../../support/run/samples.js';

it(
  'slots in use equal claims held, over random interleavings with crashes and repeats',
  () => playInterleavings(casesOf(1_000, 25)),
  600_000,
);
