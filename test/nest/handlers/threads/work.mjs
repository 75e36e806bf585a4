// The handler of the tests of threads: does what the payload says.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isMainThread, threadId } from 'node:worker_threads';

let jobsHere = 0;

const validate = (value) =>
  typeof value.n === 'number' ? { value } : { issues: [{ message: 'expected a number', path: ['n'] }] };

/** Returns a definition as another copy of the library makes it. */
function definition(name) {
  const schema = { '~standard': { version: 1, vendor: 'test', validate } };
  const brand = Symbol.for('nest-job-queue:brand');
  return { [brand]: 'JobDefinition', name, payload: schema, defaults: { priority: 3, backoff: () => 1 } };
}

const refusal = (call) =>
  call.then(
    () => 'taken',
    ({ name, code, message }) => `${name} ${code}: ${message}`,
  );

function burnsInThread() {
  let sum = 0;
  for (const until = Date.now() + 60; Date.now() < until;) sum += Math.sqrt(sum + 1);
  return sum > 0;
}

/** @param {import('nest-job-queue').ThreadJob<Record<string, never>>} job */
export default async function work(job) {
  jobsHere++;
  switch (job.payload.do) {
    case 'describe': {
      const { id, name, queue, attempt, maxAttempts, fence } = job;
      const dates = [job.enqueuedAt instanceof Date, job.claimedAt instanceof Date];
      return { id, name, queue, attempt, maxAttempts, fence, dates, isMainThread, threadId, jobsHere };
    }
    case 'describe more': {
      const { group, readyAt, enqueuedAt, metadata } = job;
      return { group, isReady: readyAt >= enqueuedAt, batch: job.batch, metadata };
    }
    case 'burn':
      return burnsInThread();
    case 'return':
      return job.payload.n;
    case 'stream':
      void job.stream.write(new Uint8Array([0, 255]));
      return (async function* () {
        yield 'text';
        yield { json: 1 };
        return 'done';
      })();
    case 'stream too much':
      void job.stream.write('x'.repeat(300_000));
      return 'done';
    case 'report all':
      await Promise.all([job.progress(1), job.log('a line'), job.checkpoint(1)]);
      return undefined;
    case 'add':
      await job.batch.add(job.name, { do: 'return', n: 1 });
      return undefined;
    case 'sum up': {
      let sum = 0;
      for await (const { result } of job.batch.members()) sum += result;
      const { batch } = job;
      const { members, next } = await batch.results({ limit: 1 });
      const refused = await batch.results({ limit: 0 }).catch(({ name }) => name);
      let status;
      for await (status of batch.progress());
      const { completed } = await batch.wait({ timeoutMs: 10 });
      return {
        id: batch.id,
        queue: batch.queue,
        sum,
        first: members[0],
        next,
        refused,
        state: status.state,
        completed,
      };
    }
    case 'grow': {
      const { batch } = job;
      const page = definition(job.name);
      const added = [
        await batch.add(job.name, { do: 'return', n: 1 }, { id: 'one' }),
        ...(await batch.addMany(job.name, [
          { payload: { do: 'return', n: 2 } },
          { payload: { do: 'return', n: 3 } },
        ])),
        await batch.add(page, { do: 'return', n: 4 }),
      ];
      const refused = await Promise.all([
        refusal(batch.add(job.name, { n: () => 1 })),
        refusal(batch.addMany(job.name, [{ payload: 1 }, { payload: { n: NaN } }])),
        refusal(batch.addMany(job.name, 'pages')),
        refusal(batch.add(job.name, 1, { unique: 'key' })),
        refusal(batch.add(job.name, 1, { priority: -1 })),
        refusal(batch.add(job.name, 1, 7)),
        refusal(batch.add(page, { do: 'return', n: 'four' })),
        refusal(batch.addMany(page, [{ payload: { do: 'return', n: 'four' } }])),
      ]);
      return { added, refused };
    }
    case 'grow late':
      return refusal(job.batch.add(job.name, 1));
    case 'report':
      await job.progress({ percent: 40 });
      await job.log('half way');
      return 'reported';
    case 'report in passing':
      for (let n = 0; n < 100; n++) void job.progress(n);
      return 'reported';
    case 'spin': {
      await job.progress('spinning');
      // The event loop of this thread does not turn at all.
      const { until, atMostMs } = job.payload;
      const end = Date.now() + atMostMs;
      while (!existsSync(until)) if (Date.now() > end) return 'not told';
      return 'told';
    }
    case 'throw':
      throw new RangeError('out of range');
    case 'throw with causes':
      throw new AggregateError([new TypeError('one'), 'two'], 'both', { cause: new Error('why') });
    case 'give up': {
      class NonRetryableError extends Error {}
      throw new (class Rejected extends NonRetryableError {
        name = 'Rejected';
      })('never again');
    }
    case 'wait':
      return Promise.allSettled([job.waitFor('approved'), job.sleep(5)]).then((all) =>
        all.map(({ reason }) => reason?.message),
      );
    case 'snooze':
      return job.attempt > 1 || job.fence > job.payload.fence ? 'awake' : job.snooze(1);
    case 'meet a limit':
      if (job.fence === 2) return 'let in';
      throw Object.assign(new Error('429'), { name: 'RateLimitedError', retryAfterMs: job.payload.retryAfterMs });
    case 'exit':
      return process.exit(3);
    case 'stray error':
      setImmediate(() => {
        throw new Error('stray');
      });
      return new Promise(() => undefined);
    case 'stray error afterwards':
      setTimeout(() => {
        throw new Error('stray');
      }, 50);
      return 'returned';
    case 'native code':
      await job.progress('waiting');
      return void execFileSync('sh', ['-c', 'until [ -e "$0" ]; do sleep 0.05; done', job.payload.until]);
    case 'fill memory': {
      const all = [];
      for (;;) all.push(Array.from({ length: 10_000 }, () => Math.random()));
    }
    case 'obey':
      await job.progress('waiting');
      return new Promise((_, reject) => {
        job.signal.addEventListener('abort', () => {
          reject(new Error(`stopped because of ${job.signal.reason.name}: ${job.signal.reason.message}`));
        });
      });
    case 'ignore':
      await job.progress('waiting');
      for (;;);
    case 'no data':
      return () => 'a function';
    default:
      throw new Error(`unknown: ${JSON.stringify(job.payload)}`);
  }
}
