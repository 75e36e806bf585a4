// A claim whose token begins or ends with another, or is a part of it, is another claim. Each call of an attempt refuses it.
import { describe, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { claimedJob, expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';

type Call = (q: TestQueue, job: ClaimedJob) => Promise<unknown>;

const error = { name: 'E', message: 'no' };

const CALLS: Record<string, Call> = {
  checkpoint: (q, claim) => q.run(q.scripts.checkpoint({ claim, checkpoint: '1' })),
  complete: (q, job) => q.complete(job),
  extend: (q, job) => q.run(q.scripts.extend([job])),
  fail: (q, job) => q.fail(job, { final: true }),
  log: (q, claim) => q.run(q.scripts.log({ claim, keep: 5, lines: ['1'] })),
  'note the death': (q, job) => q.run(q.scripts.noteDeath({ error: JSON.stringify(error), claims: [job] })),
  progress: (q, claim) => q.run(q.scripts.progress({ claim, progress: '1' })),
  release: (q, job) => q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }])),
  'set the name': (q, job) => q.run(q.scripts.setName(job)),
  start: (q, job) => q.run(q.scripts.start([job])),
  step: (q, claim) => q.run(q.scripts.step({ claim, step: { name: 's', result: '1' } })),
  'write a stream': (q, claim) =>
    q.run(q.scripts.streams.write({ writes: [{ claim, first: 1, chunks: [{ kind: 'j', json: '1' }] }] })),
  wait: (q, claim) => q.run(q.scripts.wait({ claim, name: 'ok', kind: 'signal' })),
};

const NEAR = ['token-', '-1', 'token-12', '2token-1', 'oken-1', 'token-1 ', 'TOKEN-1', ''];

describe('a call of an attempt', () => {
  it.each(Object.entries(CALLS))(
    '%s changes nothing by a token that is nearly that of the claim',
    async (_, call) => {
      const { q, job } = await claimedJob('a'); // its token is token-1
      await expectUnchanged(q, async () => {
        for (const token of NEAR) {
          await call(q, { ...job, token });
        }
      });
    },
  );
});
