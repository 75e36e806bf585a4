import {
  listOf,
  oneOf,
  oneOfEach,
  rowsOf,
  textOf,
  wholeNumberOf,
  wholeNumbersOf,
} from '../../replies/check-reply.js';
import { decodeSchedule } from '../../replies/decode-schedule.js';
import { DECLARED_MS } from '../../runtime/lifetimes.js';
import type { Recurrence, ScheduleRecord } from '../../model/schedule.js';
import type { StoredSchedule } from '../../store/verbs/schedule-verbs.js';
import type {
  DueLook,
  DueSchedule,
  ResumeReply,
  TickOutcome,
  UpsertOutcome,
} from '../../store/verbs/schedule-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { encodeJobOptions } from '../encode-job-options.js';
import { type CallContext, call } from '../script-call.js';

// The outcomes of each script, as in its header.
const UPSERTED: (reply: unknown) => UpsertOutcome = oneOf(
  'created',
  'changed',
  'unchanged',
  'conflict',
  'declared',
  'stale',
  'next',
);
const TICKED = (count: number): ((reply: unknown) => TickOutcome[]) =>
  oneOfEach(count, 'enqueued', 'kept', 'skipped', 'moved', 'lost');
const RAN = oneOf('added', 'exists', 'kept', 'missing');
const RESUMED = oneOf('resumed', 'missing', 'next');

/** Returns the calls of `lua/schedule`, one for each script; see the headers there. */
export function scheduleCalls({ keys }: CallContext) {
  function records(id: string, offset: number, limit: number): ScriptCall<ScheduleRecord[]> {
    return call('scheduleList', keys.standard, [id, offset, limit, DECLARED_MS], (reply) =>
      listOf(reply).map((hash) => decodeSchedule(keys.queue, rowsOf(hash, 2).flat())),
    );
  }

  return {
    /** @param worker who declares it in code; undefined for a call */
    upsert(
      schedule: StoredSchedule,
      worker: string | undefined,
      nextDueMs: number | undefined,
      knownAt?: Date | null,
    ) {
      const { id, version, recurrence, name, payload, options, onMissed, missedAfterMs } = schedule;
      const source = worker === undefined ? 'call' : 'code';
      const owner = [id, source, worker ?? '', dueArg(nextDueMs), DECLARED_MS];
      const definition = [
        version,
        JSON.stringify(recurrence),
        name,
        payload,
        encodeJobOptions(options),
        onMissed,
        missedAfterMs,
      ];
      const limit = recurrence.limit ?? '';
      const expected = knownAt === null ? 'absent' : (knownAt?.getTime() ?? '');
      return call('scheduleUpsert', keys.standard, [...owner, ...definition, limit, expected], (reply) => {
        const [outcome, nowMs] = listOf(reply);
        return { outcome: UPSERTED(outcome), nowMs: wholeNumberOf(nowMs) };
      });
    },

    declare(worker: string, declares: boolean, schedules: readonly Pick<StoredSchedule, 'id' | 'version'>[]) {
      const each = schedules.flatMap(({ id, version }) => [id, version]);
      return call(
        'scheduleDeclare',
        keys.standard,
        [worker, declares ? '1' : '0', DECLARED_MS, ...each],
        oneOfEach(schedules.length, 'declared', 'conflict', 'upsert'),
      );
    },

    due(limit: number, othersFrom?: number): ScriptCall<DueLook> {
      return call('scheduleDue', keys.standard, [limit, DECLARED_MS, othersFrom ?? ''], (reply) =>
        decodeDue(listOf(reply)),
      );
    },

    tick(ticks: readonly (DueSchedule & { nextDueMs: number })[]): ScriptCall<TickOutcome[]> {
      const args = ticks.flatMap(({ id, dueAtMs, version, nextDueMs }) => [
        id,
        dueAtMs,
        version,
        dueArg(nextDueMs),
      ]);
      return call('scheduleTick', keys.standard, args, TICKED(ticks.length));
    },

    run(id: string, jobId: string) {
      return call('scheduleRun', keys.standard, [id, jobId], (reply) => {
        const [outcome, madeId = '', name = ''] = listOf(reply);
        return { outcome: RAN(outcome), jobId: textOf(madeId), name: textOf(name) };
      });
    },

    pause(id: string): ScriptCall<'paused' | 'missing'> {
      return call('schedulePause', keys.standard, [id], oneOf('paused', 'missing'));
    },

    /** @param next the next due time, with the version of the definition that determined it */
    resume(id: string, next?: { dueMs: number; version: string }): ScriptCall<ResumeReply> {
      return call('scheduleResume', keys.standard, [id, dueArg(next?.dueMs), next?.version ?? ''], (reply) => {
        const [first, nowMs, version, recurrence] = listOf(reply);
        const outcome = RESUMED(first);
        return outcome === 'next'
          ? {
              outcome,
              nowMs: wholeNumberOf(nowMs),
              version: textOf(version),
              recurrence: JSON.parse(textOf(recurrence)) as Recurrence,
            }
          : { outcome };
      });
    },

    remove(id: string): ScriptCall<'removed' | 'missing' | 'declared'> {
      return call('scheduleRemove', keys.standard, [id, DECLARED_MS], oneOf('removed', 'missing', 'declared'));
    },

    list(offset: number, limit: number): ScriptCall<ScheduleRecord[]> {
      return records('', offset, limit);
    },

    /** Returns a list of one, or of none. */
    get(id: string): ScriptCall<ScheduleRecord[]> {
      return records(id, 0, 1);
    },
  };
}

/** Returns a due time as the scripts take it: +inf if no tick is left. */
function dueArg(dueMs: number | undefined): number | string {
  return dueMs === Infinity ? '+inf' : (dueMs ?? '');
}

function decodeDue(reply: readonly unknown[]): DueLook {
  const [nowMs, nextMs, more] = wholeNumbersOf(reply.slice(0, 3), 3);
  const due = rowsOf(reply.slice(3), 4).map(([id, dueAtMs, version, recurrence]) => ({
    id: id!,
    dueAtMs: Number(dueAtMs),
    version: version!,
    recurrence: recurrence!,
  }));
  return { nowMs: nowMs!, nextDueInMs: nextMs! < 0 ? undefined : nextMs!, more: more === 1, due };
}
