import { Argument, type Command } from 'commander';
import { RUN_MARKS } from '../../inspect/marks.js';
import { onClock } from '../../inspect/clock.js';
import { nextTimes, lateSchedule } from '../../inspect/schedule-rules.js';
import { recurrenceInWords, rulesInWords } from '../../inspect/schedules-in-words.js';
import { readSigns } from '../../inspect/signs.js';
import { unreadable } from '../../inspect/unreadable.js';
import { ScheduleNotFoundError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import type { Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { refusedByCode } from '../failure.js';
import type { Output } from '../output.js';
import type { Session } from '../redis/session.js';
import { age, joined, text, type Part } from '../text.js';

/** Shows the actions for one schedule. */
const SCHEDULE_ACTIONS = ['pause', 'resume', 'run', 'remove'] as const;
type Action = (typeof SCHEDULE_ACTIONS)[number];

/** Adds the command that lists recurring jobs, and steers one. */
export function addSchedules(program: Command, run: Run): void {
  program
    .command('schedules [queue]')
    .addArgument(new Argument('[action]', 'what to do with one of them').choices(SCHEDULE_ACTIONS))
    .argument('[id]', 'which one')
    .description('lists the recurring jobs of a queue, or of all; pauses, resumes, runs now or removes one')
    .option('--late', 'only those whose runs nobody makes, or whose run does not end, and why')
    .action(
      run(async (context, [name, action, id], { late }) => {
        if (late && action !== undefined) {
          throw new CliError(`--late lists schedules; leave it out to ${action} one.`, EXIT.usage);
        }
        if (name === undefined) {
          await (late ? listLate(context, await context.session.queueNames()) : listAll(context));
          return;
        }
        const queue = await context.session.known(name);
        if (action === undefined) {
          await (late ? listLate(context, [name]) : list(context, queue));
        } else if (id === undefined) {
          throw new CliError(`Pass the id of the schedule to ${action}.`, EXIT.usage);
        } else {
          await steer(context, queue, action as Action, id);
        }
      }),
    );
}

type Shown = ScheduleRecord & { nextTimes: number[] };

async function list({ session, out }: Context, queue: JobQueue): Promise<void> {
  const schedules = await read(session, queue);
  show(out, schedules, HEAD, (each) => rowOf(each, out));
}

/** Returns since when a schedule is late, for the order of the list. */
function overdue({ overdueSince }: Shown): number {
  return overdueSince?.getTime() ?? Number.MAX_SAFE_INTEGER;
}

/** Lists the schedules of all queues, the late ones first. */
async function listAll({ session, out }: Context): Promise<void> {
  const names = await session.queueNames();
  const all = await Promise.all(
    names.map((name) => read(session, session.queue(name)).catch((error: unknown) => noneOf(name, error))),
  );
  const schedules = all.flat().toSorted((a, b) => overdue(a) - overdue(b));
  show(out, schedules, ['queue', ...HEAD], (each) => [each.queue, ...rowOf(each, out)]);
}

/** Lists the schedules that are late, each with the reason and the next step that `health` would show. */
async function listLate({ session, out }: Context, names: readonly string[]): Promise<void> {
  const all = await Promise.all(
    names.map(async (name) => {
      const queue = session.queue(name);
      const schedules = await read(session, queue).catch((error: unknown) => noneOf(name, error));
      const signs = schedules.length > 0 && (await readSigns(queue));
      return schedules.flatMap((each) => {
        const late = signs && lateSchedule({ ...signs, schedules: [each] });
        return late ? [{ ...each, late: { summary: late.summary, cause: late.cause, next: late.next } }] : [];
      });
    }),
  );
  const found = all.flat().toSorted((a, b) => overdue(a) - overdue(b));
  const rows = () => found.map(({ queue, late }) => [queue, late.summary, late.next ?? '']);
  out.show(found.map(inJson), () =>
    found.length > 0
      ? out.table(['queue', 'schedule', 'next step'], rows(), { whole: ['queue'] })
      : 'No schedule is late.',
  );
}

/** @throws the error if it is not that of an unreadable queue, whose verdict `health` shows */
function noneOf(name: string, error: unknown): Shown[] {
  unreadable(name, error);
  return [];
}

async function read(session: Session, queue: JobQueue): Promise<Shown[]> {
  const shown = await session.shownBy(queue);
  const stored = await queue.schedules.list({ limit: 1_000 });
  return stored.map((each) => ({ ...shown.schedule(each), nextTimes: nextTimes(each) }));
}

const HEAD = ['schedule', 'when', 'status', 'next', 'then', 'last runs', 'ticks', 'rules'];

function show(out: Output, schedules: readonly Shown[], head: string[], row: (each: Shown) => Part[]): void {
  const layout = { whole: ['queue', 'schedule', 'last runs'], dropped: ['rules', 'ticks', 'then'] };
  const rows = () => schedules.map(row);
  out.show(schedules.map(inJson), () => (schedules.length > 0 ? out.table(head, rows(), layout) : 'No schedule.'));
}

function inJson(schedule: Shown): object {
  return { ...schedule, nextTimes: schedule.nextTimes.map((at) => new Date(at)) };
}

function rowOf(schedule: Shown, out: Output): Part[] {
  const { id, timeZone = 'UTC', status, source, isDeclared, overdueSince, ticks, runs } = schedule;
  const isAbandoned = status === 'paused' && source === 'code' && !isDeclared;
  const [next, ...later] = schedule.nextTimes;
  const clock = (at: number) => onClock(at, timeZone, out.nowMs);
  const signs = runs.toReversed().map((run) => out.sign(RUN_MARKS[run.status]));
  return [
    id,
    `${recurrenceInWords(schedule)} (${timeZone})`,
    overdueSince
      ? `late for ${age(out.nowMs - overdueSince.getTime())}`
      : isAbandoned
        ? 'paused, undeclared'
        : status,
    next === undefined ? '–' : `${out.ago(new Date(next))} (${clock(next)})`,
    later.map(clock).join('; '),
    joined(signs, ''),
    ticks,
    rulesInWords(schedule).join(', '),
  ];
}

async function steer({ out, confirm }: Context, queue: JobQueue, action: Action, id: string): Promise<void> {
  if (action === 'remove') {
    await confirm(() => text`remove schedule ${id} of ${queue.name}`);
  }
  const done = await act(queue, action, id);
  if (done.outcome === 'missing') {
    throw new CliError(`Queue ${JSON.stringify(queue.name)} has no schedule ${JSON.stringify(id)}.`, EXIT.notFound);
  }
  const jobId = done.jobId === undefined ? '' : text`  job ${done.jobId}`;
  out.show({ schedule: id, ...done }, () => text`${done.outcome}${jobId}`);
}

async function act(queue: JobQueue, action: Action, id: string): Promise<{ outcome: string; jobId?: string }> {
  if (action !== 'run') {
    const asked = queue.schedules[action](id);
    return { outcome: await asked.catch(refusedByCode) };
  }
  try {
    const job = await queue.schedules.runNow(id);
    return { outcome: job.outcome === 'kept' ? 'it is at work already' : 'enqueued', jobId: job.id };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) {
      return { outcome: 'missing' };
    }
    throw error;
  }
}
