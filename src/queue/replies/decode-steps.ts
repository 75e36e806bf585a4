import type { StoredStep } from '../model/step.js';
import { UnexpectedReply } from '../store/unexpected-reply.js';
import { decodeKnownDate } from './decode-date.js';

/** Each step is a line: its name, time in ms, attempt and result. */
const STEPS = /^(?:[^\t\n]+\t\d+\t\d+\t[^\n]*\n)*$/;

/** Decodes the reply of a claim that reads its steps. @throws UnexpectedReply for the reply of another call */
export function decodeStepsReply(reply: unknown): StoredStep[] {
  if (typeof reply !== 'string' || !STEPS.test(reply)) {
    throw new UnexpectedReply('recorded steps', reply);
  }
  return decodeSteps(reply);
}

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
