import { oneOfEach } from '../../replies/check-reply.js';
import { decodeSchedule } from '../../replies/decode-schedule.js';
import type { Recurrence, ScheduleRecord, StoredSchedule } from '../../model/schedule.js';
import type {
  DueLook,
  DueSchedule,
  ResumeReply,
  TickOutcome,
  UpsertOutcome,
} from '../../store/verbs/schedule-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { type CallContext, call } from '../script-call.js';

/** The time a declaration of a schedule lasts, in ms. Processes repeat it every 10 s. */
export const DECLARED_MS = 30_000;

/** Returns the calls of `lua/schedule`, one for each script; see the headers there. */
export function scheduleCalls({ keys }: CallContext) {
  function records(id: string, offset: number, limit: number): ScriptCall<ScheduleRecord[]> {
    return call('scheduleList', keys.standard, [id, offset, limit, DECLARED_MS], (reply) =>
      (reply as string[][]).map((hash) => decodeSchedule(keys.queue, hash)),
    );
  }

  return {
    /** @param worker who declares it in code; undefined for a call */
    upsert(schedule: StoredSchedule, worker: string | undefined, nextDueMs: number | undefined) {
      const { id, version, recurrence, name, payload, options, onMissed, missedAfterMs } = schedule;
      const source = worker === undefined ? 'call' : 'code';
      const owner = [id, source, worker ?? '', dueArg(nextDueMs), DECLARED_MS];
      const definition = [version, JSON.stringify(recurrence), name, payload, options, onMissed, missedAfterMs];
      const limit = recurrence.limit ?? '';
      return call('scheduleUpsert', keys.standard, [...owner, ...definition, limit], (reply) => {
        const [outcome, nowMs] = reply as [UpsertOutcome, number];
        return { outcome, nowMs };
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
        decodeDue(reply as (string | number)[]),
      );
    },

    tick(ticks: readonly (DueSchedule & { nextDueMs: number })[]): ScriptCall<TickOutcome[]> {
      const args = ticks.flatMap(({ id, dueAtMs, version, nextDueMs }) => [
        id,
        dueAtMs,
        version,
        dueArg(nextDueMs),
      ]);
      return call('scheduleTick', keys.standard, args, (reply) => reply as TickOutcome[]);
    },

    run(id: string, jobId: string) {
      return call('scheduleRun', keys.standard, [id, jobId], (reply) => {
        const [outcome, standing = '', name = ''] = reply as [
          'added' | 'exists' | 'kept' | 'missing',
          string?,
          string?,
        ];
        return { outcome, jobId: standing, name };
      });
    },

    pause(id: string): ScriptCall<'paused' | 'missing'> {
      return call('schedulePause', keys.standard, [id], (reply) => reply as 'paused');
    },

    /** @param next the next due time, with the version of the definition that determined it */
    resume(id: string, next?: { dueMs: number; version: string }): ScriptCall<ResumeReply> {
      return call('scheduleResume', keys.standard, [id, dueArg(next?.dueMs), next?.version ?? ''], (reply) => {
        const [outcome, nowMs, version, recurrence] = reply as [
          'resumed' | 'missing' | 'next',
          number,
          string,
          string,
        ];
        return outcome === 'next'
          ? { outcome, nowMs, version, recurrence: JSON.parse(recurrence) as Recurrence }
          : { outcome };
      });
    },

    remove(id: string): ScriptCall<'removed' | 'missing' | 'declared'> {
      return call('scheduleRemove', keys.standard, [id, DECLARED_MS], (reply) => reply as 'removed');
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

function decodeDue(reply: readonly (string | number)[]): DueLook {
  const due: DueSchedule[] = [];
  for (let i = 3; i + 3 < reply.length; i += 4) {
    due.push({
      id: String(reply[i]),
      dueAtMs: Number(reply[i + 1]),
      version: String(reply[i + 2]),
      recurrence: String(reply[i + 3]),
    });
  }
  const nextDueInMs = Number(reply[1]) < 0 ? undefined : Number(reply[1]);
  return { nowMs: Number(reply[0]), nextDueInMs, more: Number(reply[2]) === 1, due };
}
