import { expect, it } from '@jest/globals';
import { decodeJob, decodeJobs } from '#queue/replies/decode-job.js';

const decoded = (hash: Record<string, string>) => decodeJob('mail', 'a', Object.entries(hash).flat());
const claimed = { status: 'processing', fence: '7', 'unstarted:7': '1' };

const UNSTARTED = { unstarted: true };
const ISOLATED = { unstarted: true, isolated: true };

it.each<[what: string, hash: Record<string, string>, marks: object]>([
  ['a job that waits in its worker', claimed, UNSTARTED],
  ['a job that has started', { ...claimed, 'unstarted:7': '2' }, {}],
  ['a job that another claim left unstarted', { ...claimed, fence: '77' }, {}],
  ['a job that is no longer claimed', { ...claimed, status: 'pending' }, {}],
  [
    'an unstarted job that no other crash may meet',
    { ...claimed, crashes: '1', next_crash_is_last: '1' },
    ISOLATED,
  ],
  ['an unstarted job that never crashed', { ...claimed, next_crash_is_last: '1' }, UNSTARTED],
  [
    'one on its last attempt, after a crash',
    { ...claimed, crashes: '1', attempts: '3', max_attempts: '3' },
    ISOLATED,
  ],
  [
    'one with an attempt left, after a crash',
    { ...claimed, crashes: '1', attempts: '2', max_attempts: '3' },
    UNSTARTED,
  ],
  ['one without a bound, after a crash', { ...claimed, crashes: '1', attempts: '9' }, UNSTARTED],
])('shows whether a worker has begun with %s', (_what, hash, marks) => {
  const { unstarted, isolated } = decoded(hash);
  expect({ ...(unstarted && { unstarted }), ...(isolated && { isolated }) }).toEqual(marks);
});

it.each([
  [{}, 'mail', undefined],
  [{ name: 'send', payload: '{"kind":"other"}' }, 'send', { kind: 'other' }],
  [{ payload: '{"kind":"other"}' }, 'other', { kind: 'other' }],
  [{ payload: '{"broken' }, 'mail', undefined],
])('shows the job of a hash with %j under the name "%s"', (hash, name, payload) => {
  expect(decoded(hash)).toMatchObject({ id: 'a', queue: 'mail', name, status: 'pending', attempts: 0 });
  expect(decoded(hash).payload).toEqual(payload);
});

it('shows what a job has streamed, and nothing for a field that is none', () => {
  expect(decoded({ stream: '1 2 30-0 400 5' }).stream).toEqual({ entries: 30, bytes: 400 });
  expect(decoded({ stream: '1 2 30 400' }).stream).toBeUndefined();
});

it('decodes a page of ids and hashes, and refuses half of one', () => {
  const page = ['a', ['status', 'failed'], 'b', ['attempts', '2']];
  expect(decodeJobs('mail', page)).toMatchObject([
    { id: 'a', status: 'failed' },
    { id: 'b', attempts: 2 },
  ]);
  expect(() => decodeJobs('mail', page.slice(0, 3))).toThrow('a page of jobs');
});
