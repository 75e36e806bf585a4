// Jobs that wait for signals end, each with the accepted answer, although workers die. A named seed finds each planted fault.
import { expect, it } from '@jest/globals';
import { someOf } from '../../test/support/run/samples.js';
import { edit, type Edit } from './plants/plant.js';
import { waited } from './waits.js';

/** The faults of the scripts, each with what it breaks. */
const PLANTS: Record<string, [breaks: string, edits: readonly Edit[]]> = {
  'a signal does not start the job that waits for it': [
    'a job has not ended',
    [
      edit('jobSignal', 'start_now(id, priority, group, lifo)', ''),
      edit('jobSignal', "redis.call('ZREM', scheduled, id)", ''),
    ],
  ],
  'a signal between the wait and the end of the attempt is forgotten': [
    'a job', // it has not ended, or it got no answer in time
    [
      edit(
        'attemptRelease',
        "local has_come = wait.kind == 'signal' and signal_of(signals, wait.name)",
        'local has_come = false',
      ),
    ],
  ],
  'a signal after the time limit is taken': [
    'a job got another answer',
    [
      edit(
        'jobSignal',
        "if wait.state == 'over' or (tonumber(wait.until_at) or math.huge) <= now then",
        'if false then',
      ),
    ],
  ],
  'a second signal of a name is taken': [
    'two senders were accepted',
    [edit('jobSignal', 'if known_data then', 'if false then')],
  ],
  'a repeated signal is no longer recognised': [
    'a sender was told that nobody else has sent',
    [edit('jobSignal', "return asked_by == request and first_outcome or 'known'", "return 'known'")],
  ],
  'the time of a wait begins anew with each attempt': [
    'a sleep was too short',
    [edit('attemptWait', "wait.until_at ~= '' and tonumber(wait.until_at) <= now", "wait.until_at ~= ''")],
  ],
  'a wait uses an attempt': [
    'a wait used an attempt',
    [edit('attemptRelease', 'math.max(0, (tonumber(attempts) or 1) - 1)', 'attempts')],
  ],
};

it.each(someOf([1, 2, 3, 4, 5, 6, 7, 8], 8))(
  'end with the accepted answers while workers are killed: seed %d',
  async (seed) => {
    expect(await waited(seed)).toEqual([]);
  },
);

it.each(someOf(Object.entries(PLANTS), 3))('finds that %s', async (_, [breaks, edits]) => {
  expect(await waited(1, edits)).toContainEqual(expect.stringContaining(breaks));
});
