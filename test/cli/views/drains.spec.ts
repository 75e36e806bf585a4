// The time until no job waits, in the table of `stats` and `top`, and in JSON.
import { expect, it } from '@jest/globals';
import { Output } from '#cli/output.js';
import { type QueueOverview, jsonOf, overviewText } from '#cli/overview.js';
import type { QueueSigns } from '#inspect/queue-signs.js';
import type { QueueStats } from '#queue/model/job.js';
import { PassThrough } from 'node:stream';

/** Returns the overview of one queue with a backlog that has waited for this long. */
function backlog(waitedMs: number, inPerS: number, out: number): QueueOverview {
  const stats = {
    pending: 7_200,
    pausedAt: null,
    oldestPendingAgeMs: waitedMs,
    oldestUnheldAgeMs: waitedMs,
    totals: {},
  };
  const rates = { windowMs: 180_000, in: inPerS, out, attempts: 9, failedShare: 0, growing: inPerS > out };
  const signs = { queue: 'mail', stats: stats as QueueStats, rates } as QueueSigns;
  return {
    verdict: { queue: 'mail', severity: 'ok', state: 'flowing', summary: 'flowing' },
    figures: { signs, recent: undefined, marks: [] },
  };
}

it.each<[string, QueueOverview, string, object]>([
  ['drains', backlog(61_000, 1, 2), '2 h', { drainsInMs: 7_200_000 }],
  ['grows', backlog(61_000, 2, 1), 'never', { drainsInMs: null }],
  ['has just come', backlog(9_000, 2, 1), '–', {}],
])('of a backlog that %s', (_, queue, shown, json) => {
  const stdout = Object.assign(new PassThrough(), { isTTY: false });
  const out = new Output({ stdin: new PassThrough(), stdout, stderr: stdout, env: {} }, false, 0);
  const text = overviewText({ server: undefined, queues: [queue] }, 'none', out, { verdicts: 'worst above' });
  const [head, row] = (typeof text === 'object' ? text.value : String(text))
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(row![head!.indexOf('drains')]).toBe(shown);
  const { mail } = (jsonOf({ server: undefined, queues: [queue] }) as { queues: Record<string, object> }).queues;
  expect('drainsInMs' in mail!).toBe('drainsInMs' in json);
  expect(mail).toMatchObject(json);
});
