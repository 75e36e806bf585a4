// A shop whose queues move by virtual time in memory, and a ledger of what is done to them. Each ten seconds its verdicts,
// alerts, JSON and command line are held against the ledger.
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { healthText, jsonOf, overviewText, overviewOfQueues, type QueueOverview } from '#cli/overview.js';
import { Output } from '#cli/output.js';
import { lines, valueOf } from '#cli/text.js';
import { type AlertKind, alertsOf, newKinds, parseRecord } from '#inspect/alerts.js';
import type { QueueVerdict } from '#inspect/queue-signs.js';
import type { Remedy } from '#inspect/rule.js';
import { sharedErrors, sharedWords } from '#inspect/shared-errors.js';
import { findingOf } from '#inspect/verdict.js';
import { ScriptStore } from '#memory/script-store.js';
import { CausesOfFleet } from '#nest/lifecycle/verdict-watch.js';
import { lastCause } from '#queue/dead-letters/error-kinds.js';
import { JobQueue } from '#queue/job-queue.js';
import type { ClaimedJob } from '#queue/model/job.js';
import { bucketOf } from '#queue/runtime/histogram.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

const STEP_MS = 10_000;
const CALM_STEP_MS = 60_000;
/** The steps of the usual work before the first fault. */
const CALM = 10;
/** The time between two runs of the schedule, in ms. */
const EVERY_MS = 60_000;

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
  /** True while somebody makes the runs of the schedule `sync`. Absent: the queue has none. */
  ticks?: boolean;
}

/** A part of the ledger: what is done to a queue, and the sentence that its verdict must have. */
export interface Entry {
  /** The first step, counted after the calm time, and the step after the last. */
  from: number;
  to: number;
  queue: string;
  flow: Partial<Flow>;
  /** The number of steps after which the verdict must have the sentence. */
  within: number;
  says: RegExp;
  /** The next step, and where it is taken. Absent: nothing is to do. */
  next?: RegExp;
  at?: Remedy['at'];
  /** The lowest place on the overview, from 1, while the sentence holds. */
  place?: number;
}

/** One look at a queue. */
interface Look {
  step: number;
  queue: string;
  verdict: QueueVerdict;
  remedy: Remedy | undefined;
  /** Its place on the overview, from 1. */
  place: number;
}

/** What became of the jobs of a queue, as the shop itself counts. */
interface Counted {
  waiting: number;
  dead: number;
  done: number;
}

/** Returns the error of a service that is down. Its text has ids of each call, and its cause is always the same. */
export const refused = (_job: ClaimedJob, i: number): Error =>
  Object.assign(new Error(`Payment ch_3Pq${(7_919 * (i + 1)).toString(36)}XkZ of order ${i + 4_000} failed`), {
    cause: Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' }),
  });

/** Returns another error of the same service, of a queue that calls it too. */
export const undelivered = (job: ClaimedJob, i: number): Error =>
  new Error(`Could not deliver evt_3Pq${(104_729 * (i + 1)).toString(36)}XkZ to tenant-${i}`, {
    cause: refused(job, i).cause,
  });

/** A shop in memory, whose time moves by steps. */
export class Shop {
  private readonly clock = new VirtualClock();
  private readonly store = new ScriptStore(this.clock);
  private readonly out: Output;
  readonly queues: ReadonlyMap<string, JobQueue>;
  readonly looks: Look[] = [];
  readonly notices: { step: number; text: string }[] = [];
  /** The errors of several queues in each look, in words. */
  readonly shared: { step: number; words: string[] }[] = [];
  /** The figures of JSON and command line that differ from the ledger. */
  readonly wrong: string[] = [];
  private readonly told = new Map<string, string>();
  private readonly causes: CausesOfFleet;
  private readonly counted = new Map<string, Counted>();
  private made = 0;
  private deaths = 0;

  constructor(
    private readonly ledger: readonly Entry[],
    private readonly usual: Flow,
  ) {
    const names = [...new Set(ledger.map(({ queue }) => queue))];
    this.queues = new Map(names.map((name) => [name, new JobQueue(this.store, name)]));
    this.causes = new CausesOfFleet(
      {
        all: [...this.queues.values()],
        reference: (name) => new JobQueue(this.store, name),
        wholeOf: (name) => name,
      },
      kindsOf,
    );
    const stream = new PassThrough();
    this.out = new Output({ stdin: stream, stdout: stream, stderr: stream, env: {} }, false, 0);
  }

  async run(steps: number): Promise<void> {
    for (const [name, queue] of this.queues) {
      this.counted.set(name, { waiting: 0, dead: 0, done: 0 });
      if (this.ledger.some((entry) => entry.queue === name && entry.flow.ticks !== undefined)) {
        await queue.schedules.upsert('sync', { everyMs: EVERY_MS });
      }
    }
    for (let step = -CALM; step < steps; step++) {
      await this.clock.advance(step < 0 ? CALM_STEP_MS : STEP_MS);
      for (const [name, queue] of this.queues) {
        await this.work(queue, this.flowAt(name, step), step < -1 ? '2.3.0' : '2.4.0');
      }
      if (step >= 0) await this.look(step);
    }
  }

  private flowAt(name: string, step: number): Flow {
    const entry = this.ledger.find(({ queue, from, to }) => queue === name && step >= from && step < to);
    return { ...this.usual, ...entry?.flow };
  }

  private async work(queue: JobQueue, flow: Flow, version: string): Promise<void> {
    const { name } = queue;
    const counted = this.counted.get(name)!;
    const { comes, ends, runMs, error, crashes = false, served = true, ticks = true } = flow;
    const options = { name, maxAttempts: 1 };
    await queue.enqueueMany(Array.from({ length: comes }, () => ({ payload: { n: this.made++ }, ...options })));
    counted.waiting += comes + (ticks ? await this.tick(queue) : 0);
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
      counted.waiting -= jobs.length;
      if (crashes) {
        await queue.exec((calls) => calls.sweep.reclaimWorker({ worker, cursor: '0', limit: 100 }));
        counted.dead += jobs.length;
      } else {
        await this.end(queue, jobs, error, counted);
      }
      if (jobs.length > 0 && !crashes) {
        const counts = [`r${bucketOf(runMs)}`, jobs.length, `w${bucketOf(50)}`, jobs.length];
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

  private async end(
    queue: JobQueue,
    jobs: readonly ClaimedJob[],
    error: Flow['error'],
    counted: Counted,
  ): Promise<void> {
    for (const [i, job] of jobs.entries()) {
      const failure = error?.(job, i + this.made);
      await (failure ? queue.fail(job, failure) : queue.complete(job));
      counted[failure ? 'dead' : 'done']++;
    }
  }

  /** Makes the runs that are due. Returns how many. */
  private async tick(queue: JobQueue): Promise<number> {
    const { due } = await queue.exec((calls) => calls.schedules.due({ limit: 10 }));
    if (due.length === 0) {
      return 0;
    }
    const nextDueMs = (Math.floor(this.clock.now() / EVERY_MS) + 1) * EVERY_MS;
    const made = await queue.exec((calls) =>
      calls.schedules.tick({ ticks: due.map((each) => ({ ...each, nextDueMs })) }),
    );
    return made.filter((outcome) => outcome === 'enqueued').length;
  }

  private async look(step: number): Promise<void> {
    const queues = await overviewOfQueues([...this.queues.values()]);
    for (const [i, { verdict, figures }] of queues.entries()) {
      const { remedy } = findingOf(figures!.signs);
      this.looks.push({ step, queue: verdict.queue, verdict, remedy, place: i + 1 });
      await this.lookAtAlerts(this.queues.get(verdict.queue)!, verdict, step);
    }
    this.compare(step, queues);
    await this.lookAtErrors(step);
  }

  private async lookAtAlerts(queue: JobQueue, verdict: QueueVerdict, step: number): Promise<void> {
    const told = parseRecord(this.told.get(queue.name) ?? '');
    const nowMs = this.clock.now();
    const kinds = await kindsOf(queue);
    const fresh = newKinds(told, { nowMs, kinds });
    const turns = fresh.length > 0 ? await this.causes.turnsOf(queue, fresh, nowMs) : undefined;
    const facts = { nowMs, verdict, kinds, ...(turns && { causes: turns }) };
    for (const { notice, record, causes } of alertsOf(told, facts)) {
      if (notice) this.notices.push({ step, text: notice.text });
      if (causes) await this.causes.told(causes);
      this.told.set(queue.name, JSON.stringify(record));
    }
  }

  private async lookAtErrors(step: number): Promise<void> {
    const all = [...this.queues.values()];
    const kinds = await Promise.all(
      all.map(async (queue) => (await kindsOf(queue)).map((kind) => ({ ...kind, queue: queue.name }))),
    );
    const { marks } = await all[0]!.history.read({ lastMs: 7_200_000 });
    const nowMs = this.clock.now();
    const words = sharedErrors(kinds.flat(), marks, nowMs).map((error) => sharedWords(error, nowMs));
    this.shared.push({ step, words });
  }

  /** Compares JSON and command line with what the shop itself has counted. */
  private compare(step: number, queues: QueueOverview[]): void {
    const json = JSON.parse(JSON.stringify(jsonOf({ server: undefined, queues }))) as {
      queues: Record<string, { pending: number; failed: number; totals: Record<string, number>; verdict: object }>;
    };
    const overview = { server: undefined, queues };
    const table = valueOf(overviewText(overview, '', this.out, { verdicts: 'worst above' }), 1_000_000).split('\n');
    const health = valueOf(
      lines(
        healthText(
          queues.map(({ verdict }) => verdict),
          this.out,
        ),
      ),
      1_000_000,
    );
    for (const { verdict } of queues) {
      const { queue, ...words } = verdict;
      const { waiting, dead, done } = this.counted.get(queue)!;
      const entry = json.queues[queue]!;
      const row = table.find((line) => new RegExp(`^\\S {2}${queue} {2,}\\d`).test(line)) ?? '';
      const cells = row.trim().split(/ {2,}/);
      const shown = { waiting: cells[2], dead: cells[8], done: cells[14] };
      const expected = Object.fromEntries(
        Object.entries({ waiting, dead, done }).map(([name, value]) => [name, value.toLocaleString('en-US')]),
      );
      const isRight =
        entry.pending === waiting &&
        entry.failed === dead &&
        (entry.totals['completed'] ?? 0) === done &&
        JSON.stringify(entry.verdict) === JSON.stringify(words) &&
        JSON.stringify(shown) === JSON.stringify(expected) &&
        health.includes(`${queue}  ${verdict.summary}`);
      if (!isRight) {
        const { pending, failed, totals } = entry;
        this.wrong.push(
          JSON.stringify({ step, queue, expected, shown, pending, failed, done: totals['completed'] }),
        );
      }
    }
    const order = table.flatMap((line) => /^\S {2}(\S+) {2,}\d/.exec(line)?.[1] ?? []);
    if (order.join() !== Object.keys(json.queues).join()) {
      this.wrong.push(JSON.stringify({ step, order, json: Object.keys(json.queues) }));
    }
  }

  /** Returns the looks of an entry that differ from the ledger: the step, and the sentence, next step or place. */
  unlike({ queue, from, to, within, says, next, at, place = Infinity }: Entry): [number, string | undefined][] {
    const meant = this.looks.filter((look) => look.queue === queue && look.step >= from + within && look.step < to);
    return meant.flatMap(({ step, verdict, remedy, place: found }): [number, string | undefined][] => [
      ...(says.test(verdict.summary) ? [] : [[step, verdict.summary] as [number, string]]),
      ...(next?.test(verdict.next ?? '') === false ? [[step, verdict.next] as [number, string | undefined]] : []),
      ...(at !== undefined && remedy?.at !== at ? [[step, remedy?.at] as [number, string | undefined]] : []),
      ...(found > place ? [[step, `place ${found}`] as [number, string]] : []),
    ]);
  }

  noticesOf(queue: string): string[] {
    return this.notices.filter(({ text }) => text.startsWith(queue)).map(({ text }) => text);
  }
}

/** Tests what people see of a shop against its ledger. */
export function expectLedger(shop: Shop, ledger: readonly Entry[]): void {
  it.each(ledger.map((entry) => [entry.queue, entry.from, entry] as const))(
    '%s from step %i: each sentence and next step is that of the ledger',
    (_queue, _from, entry) => {
      expect(shop.unlike(entry)).toEqual([]);
    },
  );

  it('JSON and command line have the figures of the ledger, and one order', () => {
    expect(shop.wrong).toEqual([]);
  });
}

async function kindsOf(queue: JobQueue): Promise<AlertKind[]> {
  const kinds = await queue.deadLetters.kinds();
  return kinds.map((kind) => ({ ...kind, cause: kind.sample && lastCause(kind.sample) }));
}
