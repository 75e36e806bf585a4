// Every change of two years in every zone of the platform, by twenty expressions, against a look at every minute.
import { expect, it } from '@jest/globals';
import {
  changesOf,
  EXPRESSIONS,
  expectedTicks,
  foundTicks,
  HOUR,
  minutesOf,
} from '../support/queue/cron-oracle.js';

const [FROM, TO] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2028-01-01T00:00:00Z')];

it('all zones tick by the oracle at each change of two years', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const wrong: string[] = [];
  let changes = 0;
  for (const timeZone of zones) {
    const found = changesOf(timeZone, FROM, TO);
    changes += found.length;
    // A zone without a change is looked at once.
    for (const at of found.length > 0 ? found : [FROM]) {
      const minutes = minutesOf(timeZone, at - 26 * HOUR, at + 26 * HOUR);
      for (const cron of EXPRESSIONS) {
        const ticks = foundTicks(cron, timeZone, minutes);
        if (ticks.join(' ') !== expectedTicks(cron, minutes).join(' ')) {
          wrong.push(`${timeZone} ${new Date(at).toISOString()} ${cron}`);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(zones.length).toBeGreaterThan(300);
  expect(changes).toBeGreaterThan(400);
}, 1_200_000);
