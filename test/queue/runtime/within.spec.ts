import { expect, it, jest } from '@jest/globals';
import { InterruptibleWait, within } from '#queue/runtime/waits.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

const never = new Promise<string>(() => undefined);
const late = () => 'late';

it('returns the value of the promise, and leaves no timer', async () => {
  const clock = new VirtualClock();
  const clear = jest.spyOn(clock, 'clear');
  await expect(within(clock, 100, Promise.resolve('value'), late)).resolves.toBe('value');
  expect(clear).toHaveBeenCalledTimes(1);
});

it('throws the reason of the promise, or the error of `late`', async () => {
  const clock = new VirtualClock();
  await expect(within(clock, 100, Promise.reject(new Error('its own')), late)).rejects.toThrow('its own');
  const waiting = within(clock, 100, never, () => {
    throw new Error('too late');
  });
  await Promise.all([expect(waiting).rejects.toThrow('too late'), clock.advance(100)]);
});

it('continues while more time is granted', async () => {
  const clock = new VirtualClock();
  const start = clock.now();
  const grants = [50, 50, 0];
  const waiting = within(clock, 100, never, () => clock.now() - start, { moreMs: () => grants.shift()! });
  await clock.advance(500);
  await expect(waiting).resolves.toBe(200);
});

it('ends early by its signal, also by one that was aborted before', async () => {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const waiting = within(clock, 100, never, late, { signal: ending.signal });
  ending.abort();
  await expect(waiting).resolves.toBe('late');
  await expect(within(clock, 100, never, late, { signal: ending.signal })).resolves.toBe('late');
});

it('ends all waits of one InterruptibleWait, and says which ended early', async () => {
  const clock = new VirtualClock();
  const pause = new InterruptibleWait(clock);
  const [short, long, other] = [pause.wait(10), pause.wait(1_000), pause.wait(2_000)];
  await clock.advance(10);
  pause.end();
  await expect(Promise.all([short, long, other])).resolves.toEqual([false, true, true]);
});
