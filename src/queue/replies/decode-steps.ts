import type { StoredStep } from '../model/step.js';
import { decodeKnownDate } from './decode-date.js';

/** Decodes the steps of a job's hash, see `lua/attempt/step.lua`. */
export function decodeSteps(text: string): StoredStep[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [name = '', at, attempt, result = ''] = line.split('\t');
      return { name, at: decodeKnownDate(Number(at)), attempt: Number(attempt), result };
    });
}
