import { expect, it } from '@jest/globals';
import { recurrenceInWords } from '#inspect/schedules-in-words.js';

it.each([
  ['0 3 * * *', 'Every day at 03:00'],
  ['@daily', 'Every day at 00:00'],
  ['@hourly', 'Every hour at minute 0'],
  ['@weekly', 'Every Sunday at 00:00'],
  ['*/30 8-18 * * 1-5', 'Every 30 minutes from 08:00 to 18:59, Monday to Friday'],
  ['0 9-17 * * *', 'Every hour from 09:00 to 17:00'],
  ['15 9-17 * * MON', 'Every hour from 09:15 to 17:15, every Monday'],
  ['1,2 9-17 * * *', 'By the cron expression 1,2 9-17 * * *'],
  ['0 9,17 * * *', 'Every day at 09:00 and 17:00'],
  ['0 4 1 * *', 'On day 1 of every month at 04:00'],
])('says %s in words', (cron, words) => {
  expect(recurrenceInWords({ cron })).toBe(words);
});

it.each([
  [3_600_000, 'Every hour'],
  [900_000, 'Every 15 minutes'],
  [1_500, 'Every 1,500 ms'],
])('says %d ms in words', (everyMs, words) => {
  expect(recurrenceInWords({ everyMs })).toBe(words);
});
