// Moves a queue of ours to another place: take, put, acknowledge. See docs/internals/moving.md.
import type { Clock } from '../../queue/runtime/clock.js';
import { LeftCounter, tally, totalOf, type MoveReport } from '../move-report.js';
import { BatchMover } from './batch-mover.js';
import { copySettings } from './copy-settings.js';
import { EndedCopier, slicesBySize } from './copy-ended.js';
import { NewPlace } from './new-place.js';
import { STEP, type OldPlace } from './old-place.js';
import { partsOf, type MoveTarget, type LinePlace, type MoverRight, type MovingJob, type PutReply, type QueueMoveStep, type TakeReply } from './transit.js'; // prettier-ignore

/** The marks that a dead mover can leave: those of a few steps. */
const MOST_MARKS = 10 * STEP;
/** The pause between two passes over the old place, in ms. */
const PASS_MS = 250;

const WHY: Record<Exclude<TakeReply | PutReply, 'taken' | 'gone' | 'new' | 'known'> | 'bytes', string> = {
  group: 'a job of its group runs there',
  batch: 'its batch stays there',
  dependents: 'a job that waits for it stays there',
  elsewhere: 'another queue has its batch, waits for it, or is waited for',
  broken: 'its hash is gone or broken',
  existing: 'a job with its id is at the new place already',
  unique: 'another job at the new place has its unique key',
  full: 'the new place is full of dead letters',
  ofGroup: 'it belongs to a group, which BullMQ has not: pass --drop-groups',
  waits: 'it waits for other jobs (after)',
  signal: 'it waits for a signal, or sleeps',
  content: 'its payload is not plain JSON',
  bytes: 'its content is not UTF-8',
};

interface MoverParts {
  old: OldPlace;
  target: MoveTarget;
  clock: Pick<Clock, 'setTimeout' | 'monotonic'>;
  report: MoveReport;
  /** Who moves it, for the pause. */
  by: string;
  /** Called after each step. */
  onStep?: ((step: QueueMoveStep) => void) | undefined;
}

/** One run of the mover. */
export class QueueMover {
  private isStopped = false;
  private right: MoverRight | undefined;
  private left = new LeftCounter();
  /** The jobs that came back in this pass. */
  private readonly refused = new Set<string>();
  /** The parts that only a queue of ours has. */
  private readonly own: { target: NewPlace; ended: EndedCopier; batches: BatchMover } | undefined;

  constructor(private readonly parts: MoverParts) {
    const { old, target } = parts;
    if (target instanceof NewPlace) {
      const left: Pick<LeftCounter, 'add'> = { add: (...about) => this.left.add(...about) };
      const batches = new BatchMover({ ...parts, target, left });
      this.own = { target, ended: new EndedCopier(old, target), batches };
    }
  }

  get movedCount(): number {
    return totalOf(this.parts.report.moved);
  }

  /** The number of ended jobs that were copied. */
  get copiedCount(): number {
    return this.own?.ended.copied ?? 0;
  }

  /** Ends after the step that runs. */
  stop(): void {
    this.isStopped = true;
  }

  /**
   * Moves what can be moved now, first what an earlier mover left in transit.
   *
   * @throws MoverOvertakenError: what was taken is in transit or given back
   */
  async run(): Promise<void> {
    await this.begin();
    while ((await this.pass()) > 0 && !this.isStopped) {
      // Jobs that another one held back may go now.
    }
  }

  /** Moves until the old place has run and moved nothing for this long, in ms. */
  async follow(quietMs: number): Promise<void> {
    const { clock, old } = this.parts;
    await this.begin();
    let quietSince = clock.monotonic();
    while (!this.isStopped && clock.monotonic() - quietSince < quietMs) {
      const moved = await this.pass();
      quietSince = moved > 0 || (await old.runningCount()) > 0 ? clock.monotonic() : quietSince;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, PASS_MS));
    }
  }

  private async begin(): Promise<void> {
    const { old, target, by, report, onStep } = this.parts;
    await target.check();
    const { right, wasPaused } = await old.begin(by);
    this.right = right;
    await target.takeBack(right);
    onStep?.('begin');
    if (this.own) {
      report.settings = await copySettings(old, this.own.target, wasPaused);
      await this.own.batches.finishTransit(right);
    }
    await this.putTransit();
    await this.forgetLeftMarks();
  }

  /** Returns how many jobs, batches and schedules it moved. */
  private async pass(): Promise<number> {
    const { old, report } = this.parts;
    const before = this.movedCount + report.schedules.length;
    this.left = new LeftCounter();
    this.refused.clear();
    await old.queue.reclaim(); // the workers there may be gone
    await this.moveSchedules();
    await this.own?.ended.run();
    const isIdle = (await old.runningCount()) === 0;
    await this.moveHolders();
    if (isIdle && this.own) {
      await this.own.ended.run(); // with the jobs that ended since
      await this.own.batches.move(this.right!);
      await this.moveAwaiting();
    }
    if (isIdle || !(await old.hasMaxRunning())) {
      await this.moveLine('pending');
      await this.moveLine('prioritized');
      for (const group of await old.groups()) {
        await this.moveLine('group', group);
      }
      await this.moveLine('scheduled');
    }
    await this.moveLine('dead');
    await this.own?.batches.openWatched(() => this.own!.ended.run());
    report.left = this.left.all;
    return this.movedCount + report.schedules.length - before;
  }

  /** Moves the jobs that hold a group before the line of the group. */
  private async moveHolders(): Promise<void> {
    const { client, keys } = this.parts.old;
    const holders = await client.hkeys(`${keys.groupsPrefix}holds`);
    for (let i = 0; i < holders.length; i += STEP) {
      const slice = holders.slice(i, i + STEP);
      await this.take('scheduled', slice);
      await this.take('dead', slice);
    }
  }

  /** Moves the jobs that wait for others. Of a chain the last one goes first. */
  private async moveAwaiting(): Promise<void> {
    const { client, keys } = this.parts.old;
    for (let taken = 1; taken > 0 && !this.isStopped;) {
      taken = 0;
      const ids = await client.zrange(keys.awaiting, '0', '-1');
      for (let i = 0; i < ids.length; i += STEP) {
        const replies = await this.take('scheduled', ids.slice(i, i + STEP));
        taken += replies.filter((reply) => reply === 'taken').length;
      }
    }
  }

  /** Goes through a line once, past the jobs that stay. In a group all jobs behind one that stays are left, because of their order. */
  private async moveLine(place: LinePlace, group?: string): Promise<void> {
    let offset = 0;
    while (!this.isStopped) {
      const ids = await this.parts.old.ids(place, offset, STEP, group);
      if (ids.length === 0) {
        return;
      }
      const movable = ids.filter((id) => !this.refused.has(id));
      const replies = await this.take(place, movable);
      const staying = ids.length - replies.filter((reply) => reply === 'taken' || reply === 'gone').length;
      const cameBack = movable.filter((id) => this.refused.has(id)).length;
      offset += staying + (place === 'group' ? 0 : cameBack);
      if (place === 'group' && staying + cameBack > 0) {
        return;
      }
    }
  }

  private async take(place: LinePlace, ids: readonly string[]): Promise<TakeReply[]> {
    const { old, onStep } = this.parts;
    const replies = ids.length > 0 ? await old.take(place, ids) : [];
    replies.forEach((reply, i) => {
      if (reply !== 'taken' && reply !== 'gone') {
        this.left.add('job', WHY[reply], ids[i]!);
      }
    });
    if (replies.includes('taken')) {
      onStep?.('take');
      await this.putTransit();
    }
    return replies;
  }

  /** Puts what is in transit. A mover that died left it there. */
  private async putTransit(): Promise<void> {
    for (;;) {
      const jobs = await this.parts.old.inTransit();
      if (jobs.length === 0) {
        return;
      }
      await this.putJobs(jobs);
    }
  }

  private async putJobs(jobs: readonly MovingJob[]): Promise<void> {
    const { old, target, onStep, report } = this.parts;
    const [done, back]: MovingJob[][] = [[], []];
    const refuse = (job: MovingJob, why: string) => {
      back!.push(job);
      this.refused.add(job.id);
      this.left.add('job', why, job.id);
    };
    await this.own?.ended.copyKept();
    for (const slice of slicesBySize(jobs.filter(({ isText }) => isText))) {
      const replies = await target.put(this.right!, slice);
      onStep?.('put');
      replies.forEach((reply, i) => {
        const job = slice[i]!;
        if (reply === 'new' || reply === 'known') {
          done!.push(job);
          tally(report.moved, partsOf(job.entry).place);
        } else {
          refuse(job, WHY[reply]);
        }
      });
    }
    jobs.filter(({ isText }) => !isText).forEach((job) => refuse(job, WHY.bytes));
    await old.giveBack(jobs.filter((job) => back!.includes(job)));
    onStep?.('give-back');
    await old.acknowledge(done!);
    onStep?.('acknowledge');
    await this.forget(done!.map(({ entry }) => partsOf(entry).key));
    onStep?.('forget');
  }

  private async moveSchedules(): Promise<void> {
    const { old, onStep } = this.parts;
    await this.putSchedules();
    for (const id of await old.client.zrange(old.keys.scheduleDue, '0', '-1')) {
      if (await old.takeSchedule(id)) {
        onStep?.('take-schedule');
        await this.putSchedules();
      }
    }
  }

  /** Puts the schedules in transit. A mover that died left some. */
  private async putSchedules(): Promise<void> {
    const { old, target, report, onStep } = this.parts;
    for (const [id, kept] of Object.entries(await old.client.hgetall(old.moving('schedules')))) {
      const isNew = await target.putSchedule(
        this.right!,
        id,
        JSON.parse(kept) as { due: string; fields: string[] },
      );
      onStep?.('put-schedule');
      await old.settle('schedule', id);
      if (isNew) {
        report.schedules.push(id);
      }
    }
  }

  /** Forgets the marks of a mover that died before it could. Their entries are gone, so they never come again. */
  private async forgetLeftMarks(): Promise<void> {
    const { old, target } = this.parts;
    const { source } = this.right!;
    const marks = await target.marks(source, MOST_MARKS);
    const [entries, batches] = await Promise.all([
      old.client.hvals(old.moving('entries')),
      old.client.hvals(old.moving('batches')),
    ]);
    const present = new Set([...entries.map((entry) => partsOf(entry).key), ...batches]);
    await this.forget(marks.filter((key) => !present.has(key)));
  }

  private async forget(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) {
      await this.parts.target.forget(this.right!.source, keys);
    }
  }
}
