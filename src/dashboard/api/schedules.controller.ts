// The routes of schedules, and the form that creates and edits one.
import { ConflictException, Injectable, NotFoundException, Inject } from '@nestjs/common';
import { z } from 'zod';
import { timesAfter } from '../../inspect/schedule-rules.js';
import { recurrenceInWords } from '../../inspect/schedules-in-words.js';
import { inWords, onTarget } from '../../queue/actions/noted-action.js';
import { codecOf } from '../../queue/codec/codec.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import { startOf } from '../../queue/runtime/cut.js';
import { checkRecurrence } from '../../queue/schedules/recurrence.js';
import { checkSchedule, encodeSchedule, type ScheduleOptions } from '../../queue/schedules/schedule.js';
import { serverNow } from '../actions/bulk-runs.js';
import { SharedReads } from '../live/snapshot-feed.js';
import { unreadableView } from '../live/verdict-view.js';
import { gatherVisible, HiddenParts, Permissions } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import {
  editedSchedule,
  describeSchedule,
  type EditedScheduleView,
  type PreviewView,
  type SchedulesView,
  type ScheduleView,
} from '../views/schedule-view.js';
import {
  queueName,
  Changes,
  Reads,
  Routes,
  type Call,
  type ChangeCall,
  type Outcome,
  type QueueCall,
} from './route.js';

const scheduleId = z.string({ error: 'expected the id of a schedule' }).max(100, 'expected at most 100 characters');

/** The times of a schedule, with the errors of the library. */
const recurrenceSchema = z.unknown().transform((value) => checkRecurrence('schedule', value));
/** What the library checks as it is stored. */
const unchecked = z.unknown().optional();

const setSchema = z.strictObject({
  queue: queueName,
  id: scheduleId,
  recurrence: recurrenceSchema,
  name: unchecked,
  onMissed: unchecked,
  overlap: unchecked,
  /** Absent: as stored. null: none, so that of the handler. */
  priority: unchecked,
  maxAttempts: unchecked,
  /** Absent: the payload stays as it is. */
  payload: unchecked,
  /** The time of the last change that the form knows; null for a new schedule. */
  updatedAt: z.number({ error: 'expected the time of the last change, or null' }).nullable(),
});

const previewSchema = z.object({
  queue: queueName,
  id: scheduleId.default(''),
  /** As JSON, because a query has no objects. */
  recurrence: z
    .string({ error: 'expected JSON' })
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'expected JSON' });
        return z.NEVER;
      }
    })
    .pipe(recurrenceSchema),
});

/** Creates and changes schedules as a form asks for it. */
@Injectable()
export class ScheduleEditor {
  constructor(private readonly redactor: Redactor) {}

  /** @throws NotFoundException */
  async view(queue: JobQueue, id: string): Promise<EditedScheduleView> {
    const record = await known(queue, id);
    return editedSchedule(record, { refusal: refusalOf(record), payloadRefusal: this.payloadRefusal(record) });
  }

  /**
   * Stores a schedule. What the form does not show stays as it is.
   *
   * @throws InvalidOptionError, InvalidPayloadError; NotFoundException, ConflictException if it was changed meanwhile
   */
  async set(queue: JobQueue, input: z.output<typeof setSchema>): Promise<'created' | 'changed' | 'unchanged'> {
    const { id, recurrence, updatedAt } = input;
    const stored = updatedAt === null ? undefined : await known(queue, id);
    const options = this.optionsOf(input, stored);
    const { name = queue.name } = options;
    const schedule = encodeSchedule(queue, id, recurrence, options);
    await checkSchedule(schedule, queue.definitionOf?.(name), queue);
    const knownAt = updatedAt === null ? null : new Date(updatedAt);
    const outcome = await queue.schedules.putByCall(schedule, knownAt);
    if (outcome === 'stale') {
      throw staleError(id, knownAt);
    }
    return outcome;
  }

  private optionsOf(input: z.output<typeof setSchema>, stored: ScheduleRecord | undefined): ScheduleOptions {
    const { name = stored?.name, onMissed = stored?.onMissed, overlap = stored?.overlap } = input;
    return {
      ...stored?.options,
      ...(stored && { missedAfterMs: stored.missedAfterMs }),
      ...({ name, onMissed, overlap } as ScheduleOptions),
      ...givenIn(input, 'priority'),
      ...givenIn(input, 'maxAttempts'),
      payload: 'payload' in input ? input.payload : stored && this.keptPayload(stored),
    };
  }

  /** @throws ConflictException for a payload that this process cannot read, and so cannot store again */
  private keptPayload(stored: ScheduleRecord): unknown {
    const codec = codecOf(stored.payload);
    if (codec !== undefined) {
      throw new ConflictException(
        `Its payload was written by the codec "${codec}", which this process cannot read. Edit it where its key is.`,
      );
    }
    return stored.payload;
  }

  private payloadRefusal(record: ScheduleRecord): string | null {
    if (codecOf(record.payload) !== undefined) {
      return 'It is encrypted, and this process cannot read it.';
    }
    if (this.redactor.hidesPayload(record)) {
      return 'Parts of it are redacted.';
    }
    return isJson(record.payload) ? null : 'It has values that JSON cannot carry. Change it in code.';
  }
}

/** Returns an option of the jobs that the form shows; undefined for an emptied field. */
function givenIn(input: z.output<typeof setSchema>, option: 'priority' | 'maxAttempts'): ScheduleOptions {
  return option in input ? { [option]: input[option] ?? undefined } : {};
}

function noSchedule(): NotFoundException {
  return new NotFoundException('There is no schedule of that id any more.');
}

/** @throws NotFoundException */
async function known(queue: JobQueue, id: string): Promise<ScheduleRecord> {
  const record = await queue.schedules.get(id);
  if (!record) {
    throw noSchedule();
  }
  return record;
}

/** Returns the refusal of a schedule that is not as its editor knows it. */
function staleError(id: string, knownAt: Date | null): Error {
  if (knownAt !== null) {
    return new ConflictException('Somebody has changed it meanwhile. Open it again to see the change.');
  }
  const hint = 'Edit that schedule, or choose another id.';
  return new InvalidOptionError('schedule id', 'one that no schedule of the queue has', show(id), hint);
}

function refusalOf({ isDeclared, status }: ScheduleRecord): string | null {
  const turn = status === 'paused' ? 'resume' : 'pause';
  return isDeclared ? `Code declares it, so change it there. Or ${turn} it here.` : null;
}

/** Returns whether a value can be shown as JSON. A codec may make anything. */
function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

const MOST_SCHEDULES = 500;
/** The longest description of a schedule in the action log. */
const LONGEST_LOGGED = 300;
const actSchema = z.strictObject({
  action: z.enum(['run', 'pause', 'resume', 'remove'], { error: 'expected run, pause, resume, remove' }),
  queue: queueName,
  id: scheduleId.min(1),
});
const oneSchema = z.object({ queue: queueName, id: scheduleId });

/** The recurring jobs of all queues. */
@Injectable()
export class SchedulesController extends Routes {
  @Inject(ScheduleEditor) private readonly editor!: ScheduleEditor;

  constructor(
    private readonly queues: ShownQueues,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/schedules', z.object({}))
  async list(_query: object, { request }: Call): Promise<SchedulesView> {
    await this.queues.look();
    const visible = await this.permissions.visibleQueues(request, this.queues.names());
    const { found, unreadable } = await gatherVisible(this.queues, visible, MOST_SCHEDULES, {
      read: (queue, limit) => this.ofQueue(queue, limit),
      visible: (schedules) => this.permissions.visible(request, schedules),
    });
    const parts = new HiddenParts(this.permissions, request);
    return {
      schedules: await Promise.all(found.map((schedule) => parts.ofSchedule(schedule))),
      unreadable: unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  /** Returns one schedule, for the form that edits it. */
  @Reads('api/schedule', oneSchema, ({ queue, id }) => [{ action: 'view', queue, id }])
  async one({ id }: z.output<typeof oneSchema>, { queue }: QueueCall): Promise<EditedScheduleView> {
    return this.editor.view(queue, id);
  }

  /** Returns the next times of what a form says. Jobs that the schedule of this id has made count for its limit. */
  @Reads('api/schedules/preview', previewSchema, ({ queue, id }) => [
    { action: 'set-schedule', queue, ...(id !== '' && { id }) },
  ])
  async preview({ id, recurrence }: z.output<typeof previewSchema>, { queue }: QueueCall): Promise<PreviewView> {
    const [{ nowMs }, stored] = await Promise.all([
      queue.exec(({ schedules }) => schedules.due({ limit: 0 })),
      queue.schedules.get(id),
    ]);
    return {
      words: recurrenceInWords(recurrence),
      timeZone: recurrence.timeZone ?? 'UTC',
      at: nowMs,
      next: timesAfter(recurrence, nowMs, { queue: queue.name, id, ticks: stored?.ticks }),
    };
  }

  @Changes('api/schedules/set', setSchema, {
    logs: ({ id, recurrence }) =>
      onTarget('set-schedule', 'schedule', id, startOf(inWords(recurrence), LONGEST_LOGGED)),
  })
  async set(input: z.output<typeof setSchema>, { queue }: ChangeCall): Promise<Outcome & { outcome: string }> {
    const outcome = await this.editor.set(queue, input);
    return { done: outcome === 'unchanged' ? 0 : 1, outcome };
  }

  @Changes('api/schedules/act', actSchema, {
    logs: ({ action, id }) => onTarget(`${action}-schedule`, 'schedule', id),
  })
  async act(
    { action, id }: z.output<typeof actSchema>,
    { queue }: ChangeCall,
  ): Promise<Outcome & { jobId: string | null }> {
    if (action === 'run') {
      const { id: jobId, outcome } = await queue.schedules.runNow(id);
      return { done: outcome === 'kept' ? 0 : 1, jobId };
    }
    if ((await queue.schedules[action](id)) === 'missing') {
      throw noSchedule();
    }
    return { done: 1, jobId: null };
  }

  private ofQueue(queue: JobQueue, limit: number): Promise<ScheduleView[]> {
    return this.reads.get(`schedules ${queue.name} ${limit}`, async () => {
      const schedules = await queue.schedules.list({ limit });
      const nowMs = schedules.length > 0 ? await serverNow(queue) : 0;
      return schedules.map((schedule) => describeSchedule(schedule, nowMs));
    });
  }
}
