// Moves the jobs of a queue of BullMQ, Bull or bee-queue: take, import, acknowledge. See docs/internals/migration.md.
import { JobQueueError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { Clock } from '../queue/runtime/clock.js';
import type { DeadEntry, DeadReply, OnceEntry, OnceReplies, OnceReply, OnceSender } from '../queue/verbs/once.js';
import {
  type OldJob,
  type TakenJob,
  keyOf,
  type Place,
  OvertakenError,
  STEP,
  type Source,
  type SourceEra,
  type SourceSettings,
  type OldScheduler,
} from './bullmq-source.js';
import { type MoveReport, type MoveStep, tally, totalOf } from './move-report.js';
import { type MoveRules, placesOf } from './move-rules.js';
import { NewPlace } from './queue/places.js';
import {
  type Translated,
  translateJob,
  readScheduler,
  translateScheduler,
  type NewSchedule,
} from './translate-in.js';

/** The most characters of payload in one call, which must not block the server. */
const MOST_LENGTH = 1_000_000;
/** The most marks that are read at once. A dead mover leaves fewer. */
const MOST_MARKS = 10 * STEP;
/** The pause between two passes over the old queue, in ms. */
const PASS_MS = 250;

/** The queue here is full: the operator must choose what to do. */
export class TargetFullError extends Error {
  override readonly name = 'TargetFullError';
}

interface MoverParts {
  source: Source;
  era: SourceEra;
  queue: JobQueue;
  rules: MoveRules;
  clock: Pick<Clock, 'setTimeout' | 'monotonic'>;
  report: MoveReport;
  /** Called after each step. */
  onStep?: (step: MoveStep) => void;
}

type Ready = Translated & { taken: TakenJob };

/** One run of the mover. */
export class Mover {
  /** The jobs whose id is known here. They stay for this run. */
  readonly clashes = new Set<string>();
  private isStopped = false;
  private readonly schedulers: SchedulerMover;

  constructor(private readonly parts: MoverParts) {
    this.schedulers = new SchedulerMover(parts);
  }

  get movedCount(): number {
    return totalOf(this.parts.report.moved);
  }

  /** Ends after the step that runs. */
  stop(): void {
    this.isStopped = true;
  }

  /**
   * Moves what can be moved now, first what an earlier mover left in transit.
   *
   * @throws OvertakenError, TargetFullError: what was taken is in transit or given back
   * @throws UnfinishedMoveError if jobs of the queue here are on their way to the source
   */
  async run(): Promise<void> {
    await (await NewPlace.of(this.parts.queue)).takeBackFromBullmq(this.parts.source);
    await this.parts.source.begin();
    await this.importTransit();
    await this.forgetLeftMarks();
    await this.pass();
  }

  /** Moves until the old queue has run and moved nothing for this long, in ms. */
  async follow(quietMs: number): Promise<void> {
    const { clock, source } = this.parts;
    await this.run();
    let quietSince = clock.monotonic();
    while (!this.isStopped && clock.monotonic() - quietSince < quietMs) {
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, PASS_MS));
      const moved = await this.pass();
      const { active = 0 } = await source.counts();
      quietSince = moved > 0 || active > 0 ? clock.monotonic() : quietSince;
    }
  }

  /** Returns how many jobs it took. */
  private async pass(): Promise<number> {
    await this.importTransit();
    await this.schedulers.move();
    let taken = 0;
    for (const place of placesOf(this.parts.rules)) {
      taken += await this.empty(place);
    }
    return taken;
  }

  /** Takes all jobs of a place that can be moved, in their order. */
  private async empty(place: Place): Promise<number> {
    const staying = new Set<string>();
    let [taken, last] = [0, 0];
    do {
      last = await this.walk(place, staying);
      taken += last;
    } while (last > 0 && !this.isStopped);
    return taken;
  }

  /**
   * Goes through a place once, past the jobs that stay. If old workers take some of those meanwhile, later jobs move up and
   * are skipped. A further walk finds them.
   */
  private async walk(place: Place, staying: Set<string>): Promise<number> {
    const { source } = this.parts;
    let [offset, taken] = [0, 0];
    while (!this.isStopped) {
      const ids = await source.ids(place, offset, STEP);
      if (ids.length === 0) {
        break;
      }
      const jobs = await source.jobs(place, ids.filter(([id]) => !staying.has(id))); // prettier-ignore
      const movable = jobs.filter((job) => this.canMove(job)).map(({ id }) => id);
      const count = movable.length > 0 ? await source.take(place, movable) : 0;
      const moved = new Set(movable);
      ids.forEach(([id]) => moved.has(id) || staying.add(id));
      offset += ids.length - count;
      if (count > 0) {
        taken += count;
        this.parts.onStep?.('take');
        await this.importTransit();
      }
    }
    return taken;
  }

  private canMove(job: OldJob): boolean {
    return !this.clashes.has(job.id) && !('reason' in this.translate(job));
  }

  private translate(job: OldJob) {
    return translateJob(job, { ...this.parts, staying: this.schedulers.staying });
  }

  /** Imports what is in transit. A mover that died left it there. */
  private async importTransit(): Promise<void> {
    for (;;) {
      const taken = await this.parts.source.inTransit();
      if (taken.length === 0) {
        return;
      }
      await this.importJobs(taken);
    }
  }

  private async importJobs(all: readonly TakenJob[]): Promise<void> {
    const { source, era, onStep, report } = this.parts;
    const gone = all.filter(({ fields }) => Object.keys(fields).length === 0);
    const ready: Ready[] = [];
    const refused: TakenJob[] = [];
    for (const taken of all.filter((job) => !gone.includes(job))) {
      const translated = this.translate(taken);
      if ('reason' in translated) {
        refused.push(taken);
      } else {
        ready.push({ ...translated, taken });
      }
    }
    report.deleted += gone.length;
    let full: string | undefined;
    const done: TakenJob[] = [];
    for (const slice of slicesOf(ready)) {
      const replies = full === undefined ? await this.send(slice) : [];
      onStep?.('import');
      slice.forEach((each, i) => {
        const reply = replies[i];
        full ??= reply && fullOf(reply);
        if (reply && this.isHere(reply, each)) {
          done.push(each.taken);
        } else {
          refused.push(each.taken);
        }
      });
    }
    // Given back in their order, first the jobs that would run first.
    const back = all.filter((job) => refused.includes(job));
    await source.giveBack(back, era);
    onStep?.('give-back');
    await source.acknowledge([...gone, ...done]);
    onStep?.('acknowledge');
    await this.forget(done);
    onStep?.('forget');
    if (full !== undefined) {
      throw new TargetFullError(`The queue ${this.parts.queue.name} is full: it holds ${full}.`);
    }
  }

  /** Notes the outcome of a job. Returns whether it may be deleted there. */
  private isHere(reply: OnceReply | DeadReply, { taken, dropped }: Ready): boolean {
    const { report } = this.parts;
    if (reply.outcome === 'kept') {
      report.deduplicated += 1;
      return true;
    }
    if (reply.outcome === 'known' || (reply.outcome === 'new' && !fullOf(reply))) {
      tally(report.moved, taken.place);
      dropped.forEach((option) => tally(report.dropped, option));
      return true;
    }
    if (reply.outcome === 'broken') {
      throw new JobQueueError(`Could not add job ${show(taken.id)}, which stays where it is: ${reply.message}`);
    }
    if (reply.outcome === 'existing') {
      this.clashes.add(taken.id);
    }
    return false;
  }

  /** Adds jobs of one call: failed jobs, or others. */
  private async send(slice: readonly Ready[]): Promise<(OnceReply | DeadReply)[]> {
    const { queue } = this.parts;
    const dead = slice.flatMap(({ job, ran, failure, taken }): DeadEntry[] =>
      ran && failure ? [{ key: keyOf(taken.entry), job, ran, failure }] : [],
    );
    if (dead.length > 0) {
      return this.sent((sender) => queue.exec((calls) => calls.once.addDeadLetters({ sender, entries: dead })));
    }
    const entries = slice.map(({ job, ran, taken }): OnceEntry => ({
      key: keyOf(taken.entry),
      job,
      mustBeNew: true,
      ...(ran && { ran }),
    }));
    return this.sent((sender) => queue.exec((calls) => calls.once.enqueue({ sender, entries })));
  }

  /** Raises the fence if the old queue was restored from a backup. @throws OvertakenError */
  private async sent<Reply>(send: (sender: OnceSender) => Promise<OnceReplies<Reply>>): Promise<Reply[]> {
    const { source } = this.parts;
    for (let isFirst = true; ; isFirst = false) {
      const reply = await send(await source.sender());
      if ('replies' in reply) {
        return reply.replies;
      }
      if (!isFirst) {
        throw new OvertakenError();
      }
      await source.raiseFence(reply.newerFence);
    }
  }

  /** Forgets the marks of a mover that died before it could. Their entries are gone, so they never come again. */
  private async forgetLeftMarks(): Promise<void> {
    const { source, queue } = this.parts;
    const { source: name } = await source.sender();
    const marks = await queue.exec((calls) => calls.once.marks({ source: name, limit: MOST_MARKS }));
    const present = new Set((await source.entries()).map((entry) => keyOf(entry)));
    const gone = marks.filter((key) => !present.has(key));
    if (gone.length > 0) {
      await queue.exec((calls) => calls.once.forget({ source: name, keys: gone }));
    }
  }

  private async forget(done: readonly TakenJob[]): Promise<void> {
    if (done.length > 0) {
      const { source } = await this.parts.source.sender();
      await this.parts.queue.exec((calls) => calls.once.forget({ source, keys: done.map(({ entry }) => keyOf(entry)) })); // prettier-ignore
    }
  }
}

/** Returns what the queue here is full of, if it refused a job for that. */
function fullOf(reply: OnceReply | DeadReply): string | undefined {
  if (reply.outcome === 'full') {
    return `${reply.cap} dead letters, its deadLetterCap`;
  }
  return 'full' in reply && reply.full ? `${reply.full.limit} ${reply.full.unit}` : undefined;
}

/** Cuts jobs into calls of a bounded size. Failed jobs have calls of their own. */
function slicesOf(jobs: readonly Ready[]): Ready[][] {
  const slices: Ready[][] = [];
  let length = Infinity;
  let hasFailed = false;
  for (const each of jobs) {
    length += each.job.payload.length;
    if (length > MOST_LENGTH || hasFailed !== (each.failure !== undefined)) {
      hasFailed = each.failure !== undefined;
      slices.push([]);
      length = each.job.payload.length;
    }
    slices.at(-1)!.push(each);
  }
  return slices;
}

/**
 * Sets a pause and limits of the old queue here, where none is set. Sets each once, because an operator may remove it before
 * the next run. Returns what it set, in words.
 */
export async function moveSettings(
  { isPaused, concurrency, rate }: SourceSettings,
  queue: JobQueue,
  source: Pick<Source, 'settingsMoved' | 'noteSettings'>,
): Promise<string[]> {
  const done: string[] = [];
  const before = await source.settingsMoved(queue.name);
  if (isPaused && !before.includes('pause')) {
    if (await queue.pause({ by: 'migrate', reason: 'It was paused in BullMQ.' })) {
      done.push('paused');
    }
  }
  const { maxRunning, rateLimit } = await queue.limits.get();
  if (concurrency !== undefined && !before.includes('concurrency') && maxRunning === undefined) {
    await queue.limits.change({ maxRunning: concurrency });
    done.push(`maxRunning ${concurrency}`);
  }
  if (rate && !before.includes('rate') && rateLimit === undefined) {
    await queue.limits.change({ rateLimit: { limit: rate.max, periodMs: rate.duration } });
    done.push(`rateLimit ${rate.max} in ${rate.duration} ms, spread evenly`);
  }
  const seen = { pause: isPaused, concurrency: concurrency !== undefined, rate: rate !== undefined };
  await source.noteSettings(
    queue.name,
    Object.entries(seen).flatMap(([name, is]) => (is || before.includes(name) ? [name] : [])),
  );
  return done;
}

interface Parts {
  source: Source;
  queue: JobQueue;
  rules: MoveRules;
  report: MoveReport;
  onStep?: (step: MoveStep) => void;
}

/** The reason why a scheduler stays whose id is in use here. */
const TAKEN_ID = 'a schedule with its id is here already: remove one of them';

/** Moves schedulers: takes each away there, creates the schedule here, and forgets what was kept. */
class SchedulerMover {
  /** The schedulers that stay. */
  readonly staying = new Set<string>();

  constructor(private readonly parts: Parts) {}

  async move(): Promise<void> {
    await this.createKept();
    this.staying.clear();
    for (const old of await this.parts.source.schedulers()) {
      if (!(await this.take(old))) {
        this.staying.add(old.id);
      }
    }
    await this.createKept();
  }

  private async take(old: OldScheduler): Promise<boolean> {
    const { source, onStep } = this.parts;
    const translated = await translatedOf(this.parts, old);
    if ('reason' in translated) {
      return false;
    }
    const isTaken = await source.takeScheduler(old, JSON.stringify(translated.schedule ?? null));
    onStep?.('take-scheduler');
    return isTaken;
  }

  /** Creates the schedules of schedulers that were taken. A mover that died left some. */
  private async createKept(): Promise<void> {
    const { source, queue, report, onStep } = this.parts;
    for (const [id, kept] of Object.entries(await source.schedulersInTransit())) {
      const schedule = JSON.parse(kept) as NewSchedule | null;
      if (schedule) {
        await queue.schedules.upsert(schedule.id, schedule.recurrence, schedule.options);
        report.schedules.push(schedule.id);
      }
      onStep?.('upsert');
      await source.acknowledgeScheduler(id);
    }
  }
}

/** Returns what a scheduler becomes, or why it stays. */
export async function translatedOf(
  { source, queue, rules }: Pick<Parts, 'source' | 'queue' | 'rules'>,
  old: OldScheduler,
): Promise<ReturnType<typeof translateScheduler>> {
  const read = await readScheduler(source, old);
  const translated = translateScheduler(read, queue, rules);
  const isTaken = 'schedule' in translated && (await queue.schedules.get(read.newId)) !== null;
  return isTaken ? { reason: TAKEN_ID } : translated;
}
