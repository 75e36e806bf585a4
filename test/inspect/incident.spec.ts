// An incident that moves, in virtual time and in memory. Each ten seconds the sentences of the verdicts and alerts are held
// against a ledger of what was done.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type AlertKind, alertsOf, newKinds, parseRecord } from '#inspect/alerts/alerts.js';
import type { QueueVerdict } from '#inspect/queue-signs.js';
import { sharedErrors, sharedWords } from '#inspect/shared-errors.js';
import { readSigns } from '#inspect/signs.js';
import { verdictOf } from '#inspect/verdict.js';
import { ScriptStore } from '#memory/script-store.js';
import { CausesOfFleet } from '#nest/verdicts/causes-of-fleet.js';
import { JobQueue } from '#queue/job-queue.js';
import { lastCause } from '#queue/dead-letters/error-kinds.js';
import type { ClaimedJob } from '#queue/model/job.js';
import { bucketOf } from '#queue/runtime/histogram.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

const STEP_MS = 10_000;
const CALM_STEP_MS = 60_000;
/** The steps of the usual work before the first fault. */
const CALM = 10;

/** What happens to the jobs of a queue in a step. */
interface Flow {
  /** The number of new jobs. */
  comes: number;
  /** The number of jobs that the workers may end. */
  ends: number;
  /** The run time of each job. */
  runMs: number;
  /** Returns the error of a job; undefined for one that completes. */
  error?: (job: ClaimedJob, i: number) => Error | undefined;
  /** True if the job ends its worker. */
  crashes?: boolean;
  /** False while no worker runs, as in a deploy. */
  served?: boolean;
}

const USUAL: Flow = { comes: 4, ends: 4, runMs: 200 };
const QUEUES = ['payment', 'webhook', 'email', 'video', 'image', 'search', 'invoice'] as const;
type Name = (typeof QUEUES)[number];

/** A part of the ledger: what is done to a queue, and the sentence that its verdict must have. */
interface Entry {
  /** The first step, counted after the calm time, and the step after the last. */
  from: number;
  to: number;
  queue: Name;
  flow: Partial<Flow>;
  /** The number of steps after which the verdict must have the sentence. */
  within: number;
  says: RegExp;
}

const refused = (_job: ClaimedJob, i: number) =>
  Object.assign(new Error(`Payment ch_3Pq${(7_919 * (i + 1)).toString(36)}XkZ of order ${i + 4_000} failed`), {
    cause: Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' }),
  });

const undelivered = (_job: ClaimedJob, i: number) =>
  new Error(`Could not deliver evt_3Pq${(104_729 * (i + 1)).toString(36)}XkZ to tenant-${i}`, {
    cause: refused(_job, i).cause,
  });

const LEDGER: readonly Entry[] = [
  { from: 0, to: 60, queue: 'search', flow: {}, within: 0, says: /^(idle|flowing)/ },
  { from: 0, to: 30, queue: 'payment', flow: { error: refused }, within: 12, says: /^failing: .* dead letters of one kind/ },
  { from: 30, to: 60, queue: 'payment', flow: {}, within: 30, says: /./ },
  { from: 0, to: 30, queue: 'webhook', flow: { error: undelivered }, within: 12, says: /^failing: .* dead letters of one kind/ },
  { from: 30, to: 60, queue: 'webhook', flow: {}, within: 30, says: /./ },
  { from: 6, to: 30, queue: 'email', flow: { comes: 40 }, within: 24, says: /^(falling behind|late): .*40.* waiting|^falling behind/ },
  { from: 30, to: 60, queue: 'email', flow: { comes: 4, ends: 120 }, within: 2, says: /^(draining: |idle|flowing)/ },
  { from: 6, to: 40, queue: 'image', flow: { crashes: true, comes: 1, ends: 1 }, within: 6, says: /^crashing: \d+ workers died in 10 min, all while running `image`/ },
  { from: 6, to: 40, queue: 'video', flow: { ends: 1, runMs: 14_000 }, within: 24, says: /^(falling behind|late|slow): / },
  { from: 12, to: 14, queue: 'invoice', flow: { served: false }, within: 2, says: /^(idle|flowing|waiting: .* no worker for \d+ s)/ },
  { from: 14, to: 60, queue: 'invoice', flow: {}, within: 2, says: /^(idle|flowing)/ },
]; // prettier-ignore

/** One look at a queue. */
interface Look {
  step: number;
  queue: Name;
  verdict: QueueVerdict;
}

/** A shop of six queues in memory, whose time moves by steps. */
class Shop {
  private readonly clock = new VirtualClock();
  private readonly store = new ScriptStore(this.clock);
  readonly queues = new Map<Name, JobQueue>(QUEUES.map((name) => [name, new JobQueue(this.store, name)]));
  readonly looks: Look[] = [];
  readonly notices: { step: number; text: string }[] = [];
  /** The errors of several queues in each look, in words. */
  readonly shared: { step: number; words: string[] }[] = [];
  private readonly told = new Map<Name, string>();
  private readonly causes = new CausesOfFleet(
    { all: [...this.queues.values()], reference: (name) => new JobQueue(this.store, name) },
    kindsOf,
  );
  private made = 0;
  private deaths = 0;

  async run(steps: number): Promise<void> {
    for (let step = -CALM; step < steps; step++) {
      await this.clock.advance(step < 0 ? CALM_STEP_MS : STEP_MS);
      for (const [name, queue] of this.queues) {
        await this.work(name, queue, flowAt(name, step), step < -1 ? '2.3.0' : '2.4.0');
        if (step >= 0) await this.look(name, queue, step);
      }
      if (step >= 0) await this.lookAtErrors(step);
    }
  }

  private async work(name: Name, queue: JobQueue, flow: Flow, version: string): Promise<void> {
    const { comes, ends, runMs, error, crashes = false, served = true } = flow;
    const options = { name, maxAttempts: 1 };
    await queue.enqueueMany(Array.from({ length: comes }, () => ({ payload: { n: this.made++ }, ...options })));
    if (served) {
      await queue.exec((calls) =>
        calls.workers.register({
          worker: `web-1:1:${name}`,
          serves: true,
          handlers: [{ name, maxAttempts: 1, maxCrashes: 3 }],
        }),
      );
      const worker = crashes ? `web-2:${this.deaths++}:${name}` : `web-1:1:${name}`;
      const { jobs } = await queue.exec((calls) =>
        calls.claim({ count: ends, token: this.clock.randomId(), worker, stream: '0' }),
      );
      for (const [i, job] of jobs.entries()) {
        const failure = error?.(job, i + this.made);
        if (crashes) {
          await queue.exec((calls) => calls.sweep.reclaimWorker({ worker, cursor: '0', limit: 100 }));
        } else if (failure) {
          await queue.fail(job, failure);
        } else {
          await queue.complete(job);
        }
      }
      const counts =
        jobs.length > 0 && !crashes ? [`r${bucketOf(runMs)}`, jobs.length, `w${bucketOf(50)}`, jobs.length] : [];
      if (counts.length > 0) {
        await queue.exec((calls) => calls.history.addDurations({ worker, batch: this.clock.randomId(), counts }));
      }
    }
    await queue.exec((calls) =>
      calls.sweep.reclaim({ limit: 100, gapMs: 60_000, waitMs: STEP_MS, everyMs: 2 * STEP_MS }),
    );
    const { pending, processing, oldestPendingAgeMs } = await queue.stats();
    const reading = { pending, processing, oldestPendingAgeMs, version, gapMs: 180_000 };
    await queue.exec((calls) => calls.history.closeMinute(reading));
  }

  private async look(name: Name, queue: JobQueue, step: number): Promise<void> {
    const verdict = verdictOf(await readSigns(queue));
    this.looks.push({ step, queue: name, verdict });
    const told = parseRecord(this.told.get(name) ?? '');
    const nowMs = this.clock.now();
    const kinds = await kindsOf(queue);
    const fresh = newKinds(told, { nowMs, kinds });
    const turns = fresh.length > 0 ? await this.causes.turnsOf(queue, fresh, nowMs) : undefined;
    for (const { notice, record, causes } of alertsOf(told, {
      nowMs,
      verdict,
      kinds,
      ...(turns && { causes: turns }),
    })) {
      if (notice) this.notices.push({ step, text: notice.text });
      if (causes) await this.causes.told(causes);
      this.told.set(name, JSON.stringify(record));
    }
  }

  private async lookAtErrors(step: number): Promise<void> {
    const all = [...this.queues.values()];
    const kinds = await Promise.all(
      all.map(async (queue) => (await kindsOf(queue)).map((kind) => ({ ...kind, queue: queue.name }))),
    );
    const { marks } = await all[0]!.history.read({ lastMs: 7_200_000 });
    const nowMs = this.clock.now();
    this.shared.push({
      step,
      words: sharedErrors(kinds.flat(), marks, nowMs).map((error) => sharedWords(error, nowMs)),
    });
  }
}

async function kindsOf(queue: JobQueue): Promise<AlertKind[]> {
  const kinds = await queue.deadLetters.kinds();
  return kinds.map((kind) => ({ ...kind, cause: kind.sample && lastCause(kind.sample) }));
}

function flowAt(name: Name, step: number): Flow {
  const entry = LEDGER.find(({ queue, from, to }) => queue === name && step >= from && step < to);
  return { ...USUAL, ...entry?.flow };
}

const shop = new Shop();

beforeAll(() => shop.run(60), 120_000);

it.each(LEDGER.map((entry) => [entry.queue, entry.from, entry] as const))(
  '%s from step %i: each sentence is that of the ledger',
  (_queue, _from, { queue, from, to, within, says }) => {
    const meant = shop.looks.filter((look) => look.queue === queue && look.step >= from + within && look.step < to);
    expect(
      meant
        .filter(({ verdict }) => !says.test(verdict.summary))
        .map(({ step, verdict }) => [step, verdict.summary]),
    ).toEqual([]);
  },
);

it('names the error of both queues in each look, with its begin and the deploy before it', () => {
  const words =
    /^connect ECONNREFUSED 10\.0\.0\.7:443 in (payment, webhook|webhook, payment) since \d\d:\d\d UTC, 10 s after version 2\.4\.0$/;
  const wrong = shop.shared.filter((look) => look.words.length !== 1 || !words.test(look.words[0]!));
  expect(wrong).toEqual([]);
});

const noticesOf = (queue: Name) =>
  shop.notices.filter(({ text }) => text.startsWith(queue)).map(({ text }) => text);

describe('the alerts', () => {
  it('name the refused connection once, whatever ids its errors and whatever queues it has', () => {
    expect(shop.notices.map(({ text }) => text).filter((text) => text.includes('ECONNREFUSED'))).toEqual([
      expect.stringMatching(
        /^payment: a new error, 10 s after version 2\.4\.0, \d died: .*: connect ECONNREFUSED 10\.0\.0\.7:443/,
      ),
    ]);
  });

  it('say of a queue that nothing happened to nothing', () => {
    expect(noticesOf('search')).toEqual([]);
    expect(noticesOf('invoice')).toEqual([]);
  });

  it('say when a repaired queue is well again', () => {
    expect(noticesOf('email').at(-1)).toMatch(/^email is well again/);
  });
});
