// Moves a queue of ours to another place: take, put, acknowledge. See docs/internals/moving.md.
import type { ChainableCommander } from 'ioredis';
import type { Clock } from '../../queue/runtime/clock.js';
import { LeftCounter, tally, totalOf, type MoveReport } from '../move-report.js';
import { NewPlace, STEP, type OldPlace, fieldsOf, type EndedJob } from './places.js';
import {
  partsOf,
  type MoveTarget,
  type LinePlace,
  type MoverRight,
  type MovingJob,
  type PutReply,
  type QueueMoveStep,
  type TakeReply,
  type CopiedBatch,
  CopyEvictedError,
} from './transit.js';

/** The most marks that are read at once. A dead mover leaves fewer. */
const MOST_MARKS = 10 * STEP;
/** The pause between two passes over the old place, in ms. */
const PASS_MS = 250;

const WHY_JOB_STAYS: Record<Exclude<TakeReply | PutReply, 'taken' | 'gone' | 'new' | 'known'> | 'bytes', string> = {
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
        this.left.add('job', WHY_JOB_STAYS[reply], ids[i]!);
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
          refuse(job, WHY_JOB_STAYS[reply]);
        }
      });
    }
    jobs.filter(({ isText }) => !isText).forEach((job) => refuse(job, WHY_JOB_STAYS.bytes));
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

interface Parts {
  old: OldPlace;
  target: NewPlace;
  report: Pick<MoveReport, 'moved'>;
  left: Pick<LeftCounter, 'add'>;
  onStep?: ((step: QueueMoveStep) => void) | undefined;
}

/** The lifetime of a copy that no mover finishes, in ms. */
const COPY_MS = 3_600_000;
/** The number of copies of a batch that the new place may lose. */
const MOST_COPIES = 3;
const WHY_BATCH_STAYS = 'the batch is not sealed';

/** Moves the records of batches, whose members follow. See docs/internals/moving.md. */
class BatchMover {
  constructor(private readonly parts: Parts) {}

  async move(right: MoverRight): Promise<void> {
    const { old, onStep, left } = this.parts;
    await this.finishTransit(right);
    for (const id of await old.client.zrange(`${old.keys.batches}_by_age`, '0', '-1')) {
      const reply = await old.takeBatch(id);
      onStep?.('take-batch');
      if (reply === 'open') {
        left.add('batch', WHY_BATCH_STAYS, id);
      } else if (reply === 'elsewhere') {
        left.add('batch', 'another queue has a part of the batch', id);
      } else if (reply === 'taken') {
        await this.finishTransit(right);
      }
    }
  }

  /** Copies the batches in transit. A mover that died left some. */
  async finishTransit(right: MoverRight): Promise<void> {
    const { old, target, onStep, report, left } = this.parts;
    for (const [id, key] of Object.entries(await old.client.hgetall(old.moving('batches')))) {
      const reply = await this.put(right, id, key);
      onStep?.('put-batch');
      if (reply === 'existing') {
        left.add('batch', 'a batch with its id is at the new place already', id);
      } else if (reply === 'new') {
        tally(report.moved, 'batches');
      }
      await old.settle(reply === 'existing' ? 'batch-back' : 'batch', id);
      if (reply !== 'existing') {
        await target.forget(right.source, [key]);
      }
    }
  }

  /** Copies a batch until its whole copy is the record there. @throws CopyEvictedError */
  private async put(right: MoverRight, id: string, key: string): Promise<'new' | 'known' | 'existing'> {
    const { target, onStep } = this.parts;
    for (let copies = 0; copies < MOST_COPIES; copies++) {
      const copied = await this.copy(right, id);
      onStep?.('copy-batch');
      const reply = await target.putBatch(right, { id, key, ...copied });
      if (reply !== 'lost') {
        return reply;
      }
    }
    throw new CopyEvictedError(target.queue.name, id);
  }

  /**
   * Lets the new place check the batches, and the jobs that wait for others, of which nothing is left here.
   *
   * @param copyEnded copies the jobs that have ended here. Without their records the check would take them for deleted
   */
  async openWatched(copyEnded: () => Promise<void>): Promise<void> {
    const { old, target } = this.parts;
    const ready: string[] = [];
    for (const watched of await old.client.hkeys(old.moving('watch'))) {
      const id = watched.slice(1);
      const others = watched.startsWith('b') ? await this.openMembers(id) : await this.waitedFor(id);
      if (others !== undefined && (await old.still(others)).length === 0) {
        ready.push(watched);
      }
    }
    if (ready.length > 0) {
      await copyEnded();
    }
    for (const watched of ready) {
      await target.watch(watched.startsWith('b') ? 'watch-batch' : 'watch-job', watched.slice(1));
      await old.settle('watched', watched);
    }
  }

  private openMembers(id: string): Promise<string[]> {
    const { client, keys } = this.parts.target;
    return client.zrange(`${keys.batchRecordPrefix}${id}/open`, '0', '-1');
  }

  /** Returns the jobs that a job waits for; undefined while it is in transit itself. */
  private async waitedFor(id: string): Promise<string[] | undefined> {
    const { old, target } = this.parts;
    if ((await old.still([id])).length > 0) {
      return undefined;
    }
    const after = await target.client.hget(target.keys.job(id), 'after');
    return after === null || after === '' ? [] : after.split('\n');
  }

  /** Copies the parts of a batch into keys of this mover. Returns their lengths, and when the batch was created. */
  private async copy(right: MoverRight, id: string): Promise<Pick<CopiedBatch, 'createdAt' | 'lengths'>> {
    const { old, target } = this.parts;
    const from = (part: string) => old.moving(`batch:${id}${part}`);
    const to = (part: string) => target.copyKey(right, id, part);
    const parts = ['', '/open', '/members', '/outcomes'];
    for (const part of parts) {
      await target.client.del(to(part));
    }
    const record = await old.client.hgetall(from(''));
    const fields = fieldsOf(record);
    await this.write(to(''), fields, 2, (writes, slice) => writes.hset(to(''), ...slice));
    const open = await old.client.zrange(from('/open'), '0', '-1', 'WITHSCORES');
    const scored = open.map((_, i) => open[i ^ 1]!); // ZADD takes the score first
    await this.write(to('/open'), scored, 2, (writes, slice) => writes.zadd(to('/open'), ...slice));
    const members = await old.client.lrange(from('/members'), '0', '-1');
    await this.write(to('/members'), members, 1, (writes, slice) => writes.rpush(to('/members'), ...slice));
    const outcomes = fieldsOf(await old.client.hgetall(from('/outcomes')));
    await this.write(to('/outcomes'), outcomes, 2, (writes, slice) => writes.hset(to('/outcomes'), ...slice));
    const lengths = [fields.length / 2, open.length / 2, members.length, outcomes.length / 2];
    return { createdAt: record['created_at_ms'] ?? '0', lengths };
  }

  /** Writes values by steps, each together with the lifetime: a mover that dies leaves no key without one. */
  private async write(
    key: string,
    values: readonly string[],
    size: number,
    add: (writes: ChainableCommander, slice: string[]) => ChainableCommander,
  ): Promise<void> {
    for (let i = 0; i < values.length; i += size * STEP) {
      const writes = add(this.parts.target.client.multi(), values.slice(i, i + size * STEP));
      const replies = await writes.pexpire(key, COPY_MS).exec();
      const error = replies?.find(([failure]) => failure)?.[0];
      if (error) throw error;
    }
  }
}

// Copies what has ended at the old place, and what is remembered there, to the new one.

/** The most characters of one call, which must not block the server. */
const MOST_LENGTH = 1_000_000;
const IDS_OF_A_CALL = 1_000;

/** Copies ended jobs, ids of ended jobs, and unique keys that are held for a time. */
export class EndedCopier {
  /** The newest id of each history that was copied. */
  private readonly newest = new Map<string, string>();
  private rememberedCount = -1;
  /** The number of jobs that were copied. */
  copied = 0;

  constructor(
    private readonly old: OldPlace,
    private readonly target: NewPlace,
  ) {}

  async run(): Promise<void> {
    await this.copyHistory('completed');
    await this.copyHistory('cancelled');
    await this.copyKept();
    await this.copyIds();
    await this.copyWindows();
  }

  /** Copies the records that are kept because waiting jobs will read their results. */
  async copyKept(): Promise<void> {
    const ids = await this.old.client.zrange(this.old.keys.keptResults, '0', '-1');
    for (let i = 0; i < ids.length; i += STEP) {
      await this.copy('kept', ids.slice(i, i + STEP));
    }
  }

  /** Copies the jobs of a history that are newer than those of the last call, the oldest first. */
  private async copyHistory(place: 'completed' | 'cancelled'): Promise<void> {
    const known = this.newest.get(place);
    const found: string[] = [];
    for (let at = 0, isKnown = false; !isKnown; at += STEP) {
      const slice = await this.old.client.lrange(this.old.keys[place], String(at), String(at + STEP - 1));
      const end = known === undefined ? -1 : slice.indexOf(known);
      found.push(...(end < 0 ? slice : slice.slice(0, end)));
      isKnown = end >= 0 || slice.length < STEP;
    }
    const oldestFirst = found.toReversed();
    for (let i = 0; i < oldestFirst.length; i += STEP) {
      await this.copy(place, oldestFirst.slice(i, i + STEP));
    }
    if (found[0] !== undefined) {
      this.newest.set(place, found[0]);
    }
  }

  private async copy(place: 'completed' | 'cancelled' | 'kept', ids: readonly string[]): Promise<void> {
    const { client, keys } = this.old;
    const jobs = await Promise.all(
      ids.map(async (id): Promise<EndedJob> => {
        const [hash, left] = await Promise.all([client.hgetall(keys.job(id)), client.pttl(keys.job(id))]);
        return { id, leftMs: left > 0 ? left : undefined, fields: fieldsOf(hash) };
      }),
    );
    const isKept = place === 'kept';
    const there = jobs.filter(
      ({ leftMs, fields }) => fields.length > 0 && !fields.includes('moved') && isKept === (leftMs === undefined),
    );
    for (const slice of slicesBySize(there)) {
      this.copied += await this.target.putEnded(place, slice);
    }
  }

  private async copyIds(): Promise<void> {
    const { client, keys } = this.old;
    const count = await client.zcard(keys.endedIds);
    if (count === this.rememberedCount) {
      return;
    }
    this.rememberedCount = count;
    for (let at = 0; at < count; at += IDS_OF_A_CALL) {
      const pairs = await client.zrange(keys.endedIds, String(at), String(at + IDS_OF_A_CALL - 1), 'WITHSCORES');
      await this.target.putSettings('ended', pairs);
    }
  }

  /** Copies the unique keys whose time goes on, although their job has ended. */
  private async copyWindows(): Promise<void> {
    const { client, keys } = this.old;
    const now = Date.now();
    const found = await client.zrange(keys.uniqueExpiries, String(now), '+inf', 'BYSCORE');
    for (let i = 0; i < found.length; i += STEP) {
      const slice = found.slice(i, i + STEP);
      const [owners, ends] = await Promise.all([
        client.hmget(keys.unique, ...slice),
        client.zmscore(keys.uniqueExpiries, ...slice),
      ]);
      const waiting = new Set(await this.old.still(owners.filter((owner) => owner !== null)));
      const pairs = slice.flatMap((key, k) => {
        const [owner, end] = [owners[k], ends[k]];
        return owner && end && !waiting.has(owner) ? [key, `${owner}\t${end}`] : [];
      });
      await this.target.putSettings('unique', pairs);
    }
  }
}

/** Cuts jobs into calls of a bounded size. */
function slicesBySize<Job extends { fields: readonly string[] }>(jobs: readonly Job[]): Job[][] {
  const slices: Job[][] = [];
  let length = Infinity;
  for (const job of jobs) {
    const size = job.fields.reduce((sum, each) => sum + each.length, 0);
    length += size;
    if (length > MOST_LENGTH) {
      slices.push([]);
      length = size;
    }
    slices.at(-1)!.push(job);
  }
  return slices;
}

// Copies the limits, pauses and announcements of a queue that moves, once.

/** The fields of `settings` that are not copied: each belongs to the old place, or is written by another step. */
const NOT_SETTINGS = new Set([
  'has_groups',
  'timer_until_ms',
  'timer_worker',
  'paused_at_ms',
  'paused_by',
  'pause_reason',
  'paused_until_ms',
  'rate_set_at',
]);
const GROUP_SETTINGS = new Set([
  'max_running',
  'rate_limit',
  'rate_period_ms',
  'rate_burst',
  'weight',
  'max_pending',
  'on_dead_head',
  'plain_weight',
  'max_pending_bytes',
]);
/** A hold goes with the job that has it. */
const HOLD_FIELDS = new Set(['hold', 'hold_is_dead', 'rate_set_at']);
const ANNOUNCED_FIELDS = new Set([
  'layout',
  'content',
  'producer_content',
  'largest_payload_bytes',
  'longest_window_ms',
]);

/** Copies the settings of a queue. Returns what it set there, in words. */
async function copySettings(old: OldPlace, target: NewPlace, wasPaused: boolean): Promise<string[]> {
  const { client, keys } = old;
  if ((await client.hget(old.moving('state'), 'settings')) !== null) {
    return [];
  }
  const done: string[] = [];
  const settings = await client.hgetall(keys.settings);
  const note = (isWritten: boolean, words: string) => void (isWritten && done.push(words));
  await target.putSettings(
    'announced',
    pickedFields(await client.hgetall(keys.sweep), (name) => ANNOUNCED_FIELDS.has(name)),
  );
  const own = pickedFields(settings, (name) => !NOT_SETTINGS.has(name)).map((value, i, all) =>
    i % 2 === 1 && all[i - 1] === 'limits_owner' ? '' : value,
  );
  note(await target.putSettings('queue', own), 'limits');
  const ofGroups = await client.hgetall(`${keys.groupsPrefix}settings`);
  note(
    await target.putSettings(
      'groups',
      pickedFields(ofGroups, (name) => GROUP_SETTINGS.has(name)),
    ),
    'limits of all groups',
  );
  let groups = 0;
  for (const name of await client.hkeys(`${keys.groupsPrefix}states`)) {
    const [state, until] = await Promise.all([
      client.hgetall(`${keys.groupsPrefix}state:${name}`),
      client.zscore(`${keys.groupsPrefix}resting`, name),
    ]);
    const fields = pickedFields(state, (field) => !HOLD_FIELDS.has(field));
    groups += (await target.putSettings('group', fields, { name, until: until ?? '' })) ? 1 : 0;
  }
  note(groups > 0, `settings of ${groups} group${groups === 1 ? '' : 's'}`);
  if (wasPaused) {
    const by = settings['paused_by'];
    note(
      await target.queue.pause({
        ...(by && { by }),
        reason: settings['pause_reason'] ?? 'It was paused before its move.',
      }),
      'pause',
    );
  }
  await client.hset(old.moving('state'), 'settings', '1');
  return done;
}

function pickedFields(hash: Record<string, string>, isWanted: (field: string) => boolean): string[] {
  return fieldsOf(Object.fromEntries(Object.entries(hash).filter(([field]) => isWanted(field))));
}
