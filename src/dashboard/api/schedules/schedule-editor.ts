import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import type { z } from 'zod';
import { codecOf } from '../../../queue/codec/codec.js';
import { InvalidOptionError } from '../../../queue/errors/errors.js';
import { show } from '../../../queue/errors/show.js';
import type { JobQueue } from '../../../queue/job-queue.js';
import type { ScheduleRecord } from '../../../queue/model/schedule.js';
import { checkSchedule, encodeSchedule, type ScheduleOptions } from '../../../queue/schedules/schedule.js';
import { Redactor } from '../../security/redactor.js';
import { editedSchedule } from '../../views/describe-schedule.js';
import type { EditedScheduleView } from '../../views/schedules-view.js';
import type { setSchema } from './schedule-input.js';

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

export function noSchedule(): NotFoundException {
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
