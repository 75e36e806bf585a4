import { expect, it } from '@jest/globals';
import { RedisStateError } from '#queue/errors/errors.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Outages } from '#worker/attempt/queue-reporter.js';

const REFUSED = new RedisStateError('Redis refused a call: READONLY.');

function outagesOfMail() {
  const clock = new VirtualClock();
  const warned: string[] = [];
  return { clock, warned, outages: new Outages('mail', clock, (message) => void warned.push(message)) };
}

it('rests for a second at first, then twice as long each time, for 10 s at most', async () => {
  const { clock, outages } = outagesOfMail();
  const rests: number[] = [];
  for (let i = 0; i < 6; i++) {
    const ms = outages.rest(REFUSED);
    rests.push(ms);
    await clock.advance(ms);
  }
  expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
});

it('ends the rest of all jobs at once, also of those that are refused during it', async () => {
  const { clock, outages } = outagesOfMail();
  outages.rest(REFUSED);
  await clock.advance(999.5);
  expect(outages.rest(REFUSED)).toBe(1);
  await clock.advance(0.5);
  expect(outages.rest(REFUSED)).toBe(2_000);
});

it('warns once of an outage, and again of one that begins a minute after the last rest', async () => {
  const { clock, outages, warned } = outagesOfMail();
  outages.rest(REFUSED);
  await clock.advance(61_000);
  expect(outages.rest(REFUSED)).toBe(2_000);
  expect(warned).toHaveLength(1);
  expect(warned[0]).toMatch(
    /handler of queue "mail" could not go on: .*READONLY.* rests for a second, .* up to 10 s/,
  );
  await clock.advance(62_001);
  expect(outages.rest(REFUSED)).toBe(1_000);
  expect(warned).toHaveLength(2);
});

it('warns of dropped progress once, and again after a minute in which none was dropped', async () => {
  const { clock, outages, warned } = outagesOfMail();
  const lines: number[] = [];
  for (const waitMs of [0, 60_000, 60_000, 60_001]) {
    await clock.advance(waitMs);
    outages.drop(REFUSED);
    lines.push(warned.length);
  }
  expect(lines).toEqual([1, 1, 1, 2]);
  expect(warned[0]).toMatch(/^Progress and log lines of running jobs of queue "mail" are dropped .*READONLY/);
});
