// The kinds of sequences: which steps, and how often each.
import type fc from 'fast-check';
import type { Step } from '../step.js';
import { claims, settles } from './consume.js';
import { looks } from './look.js';
import { operations, timePasses } from './operate.js';
import { enqueues, rivals } from './produce.js';
import { recurs } from './recur.js';

export const kinds: [string, [number, fc.Arbitrary<Step>][]][] = [
  ['jobs', [[5, enqueues], [5, claims], [6, settles], [3, operations], [3, timePasses], [2, looks]]], // prettier-ignore
  ['operators', [[4, enqueues], [2, claims], [2, settles], [5, operations], [2, timePasses], [2, looks]]], // prettier-ignore
  ['rivals for unique keys', [[5, rivals], [4, claims], [5, settles], [4, operations], [1, timePasses], [1, looks]]], // prettier-ignore
  ['schedules', [[1, enqueues], [2, claims], [2, settles], [1, operations], [1, timePasses], [6, recurs], [1, looks]]], // prettier-ignore
];
