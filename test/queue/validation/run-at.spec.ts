import { expect, it, jest } from '@jest/globals';
import { checkRunAt } from '#queue/validation/run-at.js';

it('a start in 1970 is right by a clock that begins then', () => {
  const start = new Date(20 * 86_400_000);
  expect(() => checkRunAt('runAt', start)).toThrow('epoch ms (not seconds)');
  const now = jest.spyOn(Date, 'now').mockReturnValue(0);
  try {
    checkRunAt('runAt', start);
  } finally {
    now.mockRestore();
  }
});
