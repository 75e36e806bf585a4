// A full Redis refuses each script without the flag allow-oom. What takes jobs out, and what running jobs and maintenance
// need, has the flag. So a full Redis gets emptier.
import { expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';

const ADDS = 'adds jobs or batches for a producer, who gets a RedisOutOfMemoryError';
const SETS = 'stores what an operator or producer sets, who gets a RedisOutOfMemoryError';
const INFORMS = 'its value is for people, and the worker drops it';
const WAITS = 'adds jobs for maintenance, which tries again';

/** The scripts that a full Redis refuses, each with its reason. */
const REFUSED: Record<string, string> = {
  jobEnqueue: ADDS,
  jobEnqueueNewest: ADDS,
  jobSignal: SETS,
  jobUpdate: SETS,
  deadLetterRedriveAsNew: ADDS,
  deadLetterMarkKind: SETS,
  batchCreate: ADDS,
  batchDepend: ADDS,
  scheduleRun: ADDS,
  scheduleUpsert: SETS,
  scheduleTick: WAITS,
  onceEnqueue: WAITS,
  onceAddDeadLetters: WAITS,
  attemptProgress: INFORMS,
  attemptLog: INFORMS,
  streamWrite: 'its attempt goes back without being used, because a dropped chunk would be a gap',
  historyAddDurations: INFORMS,
  historyCloseMinute: INFORMS,
  profileRequest: SETS,
  profileTake: INFORMS,
  profileStore: INFORMS,
  groupSet: SETS,
  limitsSet: SETS,
  sharedLimitSet: SETS,
};

it('a full Redis refuses only the scripts that may wait', () => {
  const own = Object.entries(luaScripts).filter(([name]) => !name.startsWith('migrate'));
  const refused = own.filter(([, text]) => !/^#!lua[^\n]*\ballow-oom\b/.test(text)).map(([name]) => name);
  expect(refused.toSorted()).toEqual(Object.keys(REFUSED).toSorted());
});
