// Claims, the calls of their holders, also after the claim ended, and the announcements of workers.
import fc from 'fast-check';
import type { ClaimedJob } from '#queue/model/job.js';
import type { ClaimReply, ClaimRequest, Release } from '#queue/store/attempt-forms.js';
import { drawnIndex, ask, given, HOUR, MINUTE, pick, step, type Side } from './side.js';
import { sealed, sealedError } from '../../support/queue/unsealed.js';

const WORKERS = ['ada', 'bob'];
const LIMITS = [
  { name: 'mail', maxAttempts: 1, maxCrashes: 1 },
  { name: 'image', maxAttempts: 3, maxCrashes: 2 },
];

const limitsOf = ({ named }: Side) => LIMITS.map((each) => ({ ...each, name: named(each.name) }));

const claimMany = fc.constantFrom(1, 1, 2, 5).map((count) =>
  step(`claimMany(${count})`, async (side) => {
    const found = await side.queue.claimMany(count);
    side.claims.push(...found);
    return found.map(({ id, attempt, checkpoint }) => ({ id, attempt, checkpoint }));
  }),
);

/** Returns the reply without fences, which also count places in line. */
function told({ jobs, refused, isLimited, isFull, awaitsSlots, left }: ClaimReply) {
  return {
    isFull,
    jobs: jobs.map(({ fence: _fence, plain: _plain, ...job }) => job),
    refused: refused.map(({ id, error }) => ({ id, error })),
    isLimited,
    awaitsSlots,
    elsewhere: left?.elsewhere,
    unserved: left?.unserved.toSorted(),
  };
}

async function take(side: Side, request: ClaimRequest) {
  const answer = await ask(side, (calls) => calls.claim(request));
  const known = new Set(side.claims.map(({ token, id }) => `${token} ${id}`));
  side.claims.push(...answer.jobs.filter(({ token, id }) => !known.has(`${token} ${id}`)));
  await ask(side, (calls) =>
    calls.fail(
      answer.refused.map((each) => ({ ...each, error: sealedError(each.error), final: true, backoffMs: 0 })),
    ),
  );
  return told(answer);
}

const claim = fc
  .record({
    worker: fc.constantFrom(...WORKERS),
    count: fc.constantFrom(1, 2, 5),
    slots: fc.constantFrom(undefined, 1, 2),
    mostBytes: fc.constantFrom(undefined, undefined, 2),
    isNamed: fc.constantFrom(false, false, true),
  })
  .map(({ worker, count, slots, mostBytes, isNamed }) =>
    step(`claim(${worker}, ${count} for ${slots} slots, ${mostBytes} bytes${isNamed ? ', named' : ''})`, (side) => {
      const request: ClaimRequest & { atMs: number } = {
        atMs: side.now(),
        worker: side.named(worker),
        count,
        stream: '0',
        token: side.named(`t${side.requests.length}`),
        ...given({ slots, mostBytes }),
        ...(isNamed ? { only: { limits: limitsOf(side), cursor: -1 } } : { attemptLimits: limitsOf(side) }),
      };
      side.requests.push(request);
      return take(side, request);
    }),
  );

/** Returns the last request of a worker, if it is recent. Redis counts the expiry of a repeat by its own clock. */
const lastOf = ({ requests, now, named }: Side, worker: string) =>
  requests.findLast((each) => each.worker === named(worker) && now() - each.atMs < MINUTE);
const onRequest = fc.constantFrom(...WORKERS).chain((worker) =>
  fc.constantFrom(
    step(`claim(${worker}) again`, async (side) => {
      const last = lastOf(side, worker);
      return last && take(side, last);
    }),
    step(`claim(${worker}) again, 1 byte`, async (side) => {
      const last = lastOf(side, worker);
      return last && take(side, { ...last, mostBytes: 1 });
    }),
    step(`extendBatch(${worker})`, async (side) => {
      const last = lastOf(side, worker);
      return last && ask(side, (calls) => calls.extendBatch(last));
    }),
  ),
);

export const claims = fc.oneof(
  { weight: 5, arbitrary: claimMany },
  { weight: 5, arbitrary: claim },
  { weight: 1, arbitrary: onRequest },
);

type OnClaim = (side: Side, job: ClaimedJob) => Promise<unknown>;
const no = new Error('no');
const release = (each: Omit<Release, 'id' | 'token' | 'fence'>): OnClaim => {
  return (side, job) => ask(side, (calls) => calls.release([{ ...job, ...each }]));
};
const stored = { name: 'Error', message: 'no' };
const waitAndPark = (how: { kind?: 'sleep'; timeoutMs?: number }): OnClaim => {
  return async (side, job) => {
    const name = side.named('ok');
    const wait = await ask(side, (calls) => calls.wait({ claim: job, name, kind: 'signal', ...how }));
    return [wait, await release({ reason: 'wait', delayMs: 0 })(side, job)];
  };
};
const settles: [string, OnClaim][] = [
  ['complete with a result', ({ queue }, job) => queue.complete(job, job.id)],
  ['complete', ({ queue }, job) => queue.complete(job)],
  ['fail at once', ({ queue }, job) => queue.fail(job, no, { delayMs: 0 })],
  ['fail for an hour', ({ queue }, job) => queue.fail(job, no, { delayMs: HOUR })],
  ['fail finally', ({ queue }, job) => queue.fail(job, no, { final: true })],
  [
    'fail, begun',
    (side, job) =>
      ask(side, (calls) =>
        calls.fail([{ ...job, error: sealedError(stored), final: false, backoffMs: 0, begun: true }]),
      ),
  ],
  ['release', ({ queue }, job) => queue.release(job)],
  ['release, snoozed', ({ queue }, job) => queue.release(job, { delayMs: HOUR })],
  ['release, not started', release({ reason: 'interruption', delayMs: 0, unstarted: true })],
  ['release, snoozed too often', release({ reason: 'snooze', delayMs: HOUR, most: 1 })],
  ['release, rate limited', release({ reason: 'rate_limited', delayMs: HOUR, most: 1 })],
  ['release, parked', release({ reason: 'wait', delayMs: 0 })],
  ['wait, parked', waitAndPark({})],
  ['wait for an hour, parked', waitAndPark({ timeoutMs: HOUR })],
  ['sleep, parked', waitAndPark({ kind: 'sleep', timeoutMs: MINUTE })],
  ['release, unhandled', release({ reason: 'unhandled', delayMs: 0, name: 'found' })],
];
/** Mostly ends the claim for its caller; a call for an ended claim is a repeat or a stale one. */
export const settle = fc
  .tuple(fc.constantFrom(...settles), drawnIndex, fc.constantFrom(true, true, true, false))
  .map(([[name, does], number, forgets]) =>
    step(`${name}(${number}${forgets ? '' : ', kept'})`, async (side) => {
      const job = pick(side.claims, number);
      side.claims = forgets ? side.claims.filter((each) => each !== job) : side.claims;
      return job && does(side, job);
    }),
  );

const reports: [string, OnClaim][] = [
  [
    'step',
    (side, job) =>
      ask(side, (calls) => calls.step({ claim: job, step: { name: `of ${job.id}`, result: sealed('1') } })),
  ],
  ['wait', (side, job) => ask(side, (calls) => calls.wait({ claim: job, name: side.named('ok'), kind: 'signal' }))],
  ['steps', (side, job) => ask(side, (calls) => calls.step({ claim: job }))],
  [
    'checkpoint',
    (side, job) => ask(side, (calls) => calls.checkpoint({ claim: job, checkpoint: sealed(`{"of":"${job.id}"}`) })),
  ],
  ['progress', (side, job) => ask(side, (calls) => calls.progress({ claim: job, progress: sealed('50') }))],
  ['start', (side, job) => ask(side, (calls) => calls.start([job]))],
  ['start uncharged', (side, job) => ask(side, (calls) => calls.start([{ ...job, uncharged: true }]))],
  ['start all', (side) => ask(side, (calls) => calls.start(side.claims))],
  ['setName', (side, job) => ask(side, (calls) => calls.setName({ ...job, name: 'renamed' }))],
  [
    'log',
    (side, job) => ask(side, (calls) => calls.log({ claim: job, keep: 2, lines: ['"one"', '"two"'].map(sealed) })),
  ],
  ['supersededBy', (side, job) => ask(side, (calls) => calls.supersededBy([job.id]))],
  ['extend', (side) => ask(side, (calls) => calls.extend(side.claims))],
  ['extend for an hour', (side, job) => ask(side, (calls) => calls.extend([job], HOUR))],
  [
    'noteDeath',
    (side, job) => ask(side, (calls) => calls.noteDeath({ claims: [job], error: sealed('Error: left behind') })),
  ],
  ['publish', (side, job) => ask(side, (calls) => calls.publish({ ...job, status: 'stuck' }))],
];
export const report = fc.tuple(fc.constantFrom(...reports), drawnIndex).map(([[name, does], number]) =>
  step(`${name}(${number})`, async (side) => {
    const job = pick(side.claims, number);
    return job && does(side, job);
  }),
);

const limitsOfAll = (side: Side) => [...limitsOf(side), { name: side.queue.name, maxAttempts: 2, maxCrashes: 2 }];
const details = { host: 'h', pid: 1, slots: 2 };
const announcements: [string, (side: Side, worker: string) => Promise<unknown>][] = [
  [
    'workers.register',
    (side, worker) =>
      ask(side, (calls) => calls.workers.register({ worker, serves: true, handlers: limitsOf(side) })),
  ],
  [
    'workers.register',
    (side, worker) => ask(side, (calls) => calls.workers.register({ worker, serves: true, handlers: [] })),
  ],
  [
    'workers.register, for all names',
    (side, worker) =>
      ask(side, (calls) => calls.workers.register({ worker, serves: true, handlers: limitsOfAll(side) })),
  ],
  [
    'workers.register, gone',
    (side, worker) => ask(side, (calls) => calls.workers.register({ worker, serves: false })),
  ],
  [
    'workers.describe',
    (side, worker) => ask(side, (calls) => calls.workers.describe({ worker, details, ageMs: HOUR })),
  ],
  ['workers.describe, gone', (side, worker) => ask(side, (calls) => calls.workers.describe({ worker, ageMs: 0 }))],
];
const looks: [string, (side: Side) => Promise<unknown>][] = [
  ['content', (side) => ask(side, (calls) => calls.content())],
  ['notePayload', (side) => ask(side, (calls) => calls.notePayload())],
  ['workers.passWake', (side) => ask(side, (calls) => calls.workers.passWake({ worker: 'worker' }))],
  ['publishDrained', (side) => ask(side, (calls) => calls.publishDrained())],
  ['lookDrained', (side) => ask(side, (calls) => calls.lookDrained())],
  [
    'unserved',
    (side) => {
      const jobs = side.ids
        .slice(-5)
        .flatMap((id) => ['mail', 'other'].map((name) => ({ id, name: side.named(name) })));
      return ask(side, (calls) => calls.unserved({ jobs })).then(({ names, ...rest }) => ({
        ...rest,
        names: names.toSorted(),
      }));
    },
  ],
];
export const announce = fc.oneof(
  fc
    .tuple(fc.constantFrom(...announcements), fc.constantFrom(...WORKERS))
    .map(([[name, does], worker]) => step(`${name}(${worker})`, (side) => does(side, side.named(worker)))),
  fc.constantFrom(...looks).map(([name, does]) => step(name, does)),
);

/** Runs the jobs of the other queue. */
export const workElsewhere = fc.constantFrom('complete', 'fail').map((end) =>
  step(`${end} in the other queue`, async ({ other }) => {
    const found = await other.claimMany(2);
    for (const job of found) {
      await (end === 'complete' ? other.complete(job, job.id) : other.fail(job, no, { final: true }));
    }
    return found.map(({ id }) => id);
  }),
);
