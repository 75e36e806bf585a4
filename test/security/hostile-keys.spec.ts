// Hostile content of every key of a queue: each window still answers, shows no secret, and changes nothing unasked.
// PROPERTY_SEED draws other content; test/long/security spoils every key in every way.
import { describe, expect, it, jest } from '@jest/globals';
import { ScriptRunner } from '#queue/transport/script-runner.js';
import { attackKeys } from './key-attack.js';
import { Windows } from './windows.js';
import { casesOf } from '../support/run/samples.js';
import { showRecordsOpenly } from './plants.js';

it('breaks no window, shows no secret, and changes nothing', async () => {
  await attackKeys(await new Windows().open(), casesOf(16, 128));
});

describe('finds', () => {
  it('a window without redaction', async () => {
    const windows = await new Windows().open();
    showRecordsOpenly();
    await expect(attackKeys(windows, 20)).rejects.toThrow('secret out');
  });

  it('an error of Redis that no window expects', async () => {
    const windows = await new Windows().open();
    const plain = { fail: (_call: unknown, error: Error, fail: (error: Error) => unknown) => fail(error) };
    jest.spyOn(ScriptRunner.prototype as unknown as typeof plain, 'fail').mockImplementation(plain.fail);
    await expect(attackKeys(windows, 3)).rejects.toThrow('crash');
  });
});
