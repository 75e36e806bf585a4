// MODEL_RUNS and MODEL_SEED draw other sequences, MODEL_PATH one of them again.
import { it } from '@jest/globals';
import { compareStores } from './compare-stores.js';
import { casesOf } from '../support/run/samples.js';

const RUNS = Number(process.env.MODEL_RUNS ?? casesOf(10, 2));
const SEED = Number(process.env.MODEL_SEED ?? 1);

it(
  'a queue on Redis and one in memory do the same, whatever the sequence',
  () => compareStores({ runs: RUNS, seed: SEED, path: process.env.MODEL_PATH }),
  RUNS * 30_000,
);
