import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { coreQueue } from '../../support/queue/core-queue.js';

const Greet = defineJob('greet', { payload: z.object({ to: z.string() }) });
const Slow = defineJob('slow', { payload: z.object({ to: z.string().refine(async (to) => to !== 'no') }) });
const sound = { payload: { to: 'ada' } };

const faults: [string, unknown, new (...args: never[]) => Error, string][] = [
  ['an option', { ...sound, delayMs: -1 }, InvalidOptionError, '.delayMs: expected a whole number from 0 to '],
  ['an option that is none', { ...sound, delay: 1 }, InvalidOptionError, '.delay: expected a known option, '],
  ['a contradiction', { ...sound, delayMs: 1, runAt: 1 }, InvalidOptionError, ': expected delayMs or runAt, '],
  ['an id', { ...sound, id: 'a\tb' }, InvalidOptionError, '.id: expected 1 to 128 characters'],
  ['an expiry', { ...sound, delayMs: 9, expiresInMs: 5 }, InvalidOptionError, '.expiresInMs: expected more than '],
  [
    'a key',
    { ...sound, unique: { key: '', for: 'pending' } },
    InvalidOptionError,
    '.unique.key: expected text of ',
  ],
  ['a payload', { payload: { to: NaN } }, InvalidPayloadError, '.payload.to: expected a finite number, found NaN.'],
  [
    'a payload without its wrapping',
    { to: 'ada' },
    InvalidOptionError,
    ': expected an object with a payload, found an object with to. Write each job as { payload: … }.',
  ],
  ['no payload', {}, InvalidPayloadError, '.payload: expected a value that JSON can carry, found undefined.'],
];

describe('one bad request among many is named by its place, and nothing is written', () => {
  it.each(faults)('%s', async (_, bad, type, words) => {
    const { queue, state } = coreQueue();
    for (const many of [
      () => queue.enqueueMany([sound, sound, sound, bad] as never),
      () => queue.enqueueMany(Greet, [sound, sound, sound, bad] as never),
    ]) {
      const refused = await many().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(type);
      expect((refused as Error).message.slice(0, `enqueueMany[3]${words}`.length)).toBe(`enqueueMany[3]${words}`);
    }
    expect(await state.snapshot()).toEqual({});
  });

  it.each([
    ['a schema', Greet, 5],
    ['an asynchronous one', Slow, 'no'],
  ])('a payload that does not fit %s', async (_, definition, to) => {
    const { queue, state } = coreQueue();
    const refused = queue.enqueueMany(definition, [sound, { payload: { to } }] as never);
    await expect(refused).rejects.toThrow(InvalidPayloadError);
    await expect(refused).rejects.toMatchObject({ path: 'enqueueMany[1].payload.to' });
    expect(await state.snapshot()).toEqual({});
  });

  it('a name of its own', async () => {
    const { queue } = coreQueue();
    await expect(queue.enqueueMany([{ ...sound, name: '' }])).rejects.toThrow(
      'enqueueMany[0].name: expected text of 1',
    );
    await expect(queue.enqueueMany(Greet, [sound, { ...sound, name: 'other' }] as never)).rejects.toThrow(
      'enqueueMany[1].name: expected that of the definition, "greet", found "other".',
    );
  });
});
