import { expect, it } from '@jest/globals';
import { FaultLog } from '#worker/reports/failure-log.js';

it('logs an error once, until the step succeeds or has another error', () => {
  const lines: string[] = [];
  const log = (level: string) => (line: string) => void lines.push(`${level}: ${line}`);
  const faults = new FaultLog({ log: log('log'), warn: log('warn'), error: log('error') });
  const fail = (step: string, text: string) => faults.failed(step, `Could not ${step}`, new Error(text));
  fail('sweep', 'a');
  fail('sweep', 'a');
  fail('tick', 'a');
  fail('sweep', 'b');
  faults.succeeded('sweep');
  fail('sweep', 'b');
  faults.failed('claim', 'Rests', new Error('c'), 'error');
  expect(lines).toEqual([
    'warn: Could not sweep: a',
    'warn: Could not tick: a',
    'warn: Could not sweep: b',
    'warn: Could not sweep: b',
    'error: Rests: c',
  ]);
});
