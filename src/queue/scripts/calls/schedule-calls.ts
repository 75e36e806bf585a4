import type { QueueKeys } from '../queue-keys.js';
import { decodeSchedule } from '../../replies/decode-schedule.js';
import type { Recurrence, ScheduleRecord, StoredSchedule } from '../../model/schedule.js';
import type {
  DueLook,
  DueSchedule,
  ResumeAnswer,
  ScheduleVerbs,
  TickOutcome,
  UpsertAnswer,
} from '../../store/verbs/schedule-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';

/** How long a declaration of a schedule lasts, in ms. Processes repeat it every 10 s. */
export const DECLARED_MS = 30_000;

/** Builds the calls of `lua/schedule`, one method per script, and decodes their replies; see the headers there. */
export class ScheduleCalls implements ScheduleVerbs {
  constructor(private readonly keys: QueueKeys) {}

  /** @param worker who declares it in code; undefined for a call */
  upsert(schedule: StoredSchedule, worker: string | undefined, nextDueMs: number | undefined) {
    const { id, version, recurrence, name, payload, options, onMissed, missedAfterMs } = schedule;
    const source = worker === undefined ? 'call' : 'code';
    const call = [id, source, worker ?? '', dueArg(nextDueMs), DECLARED_MS];
    const definition = [version, JSON.stringify(recurrence), name, payload, options, onMissed, missedAfterMs];
    const limit = recurrence.limit ?? '';
    return this.call('scheduleUpsert', [...call, ...definition, limit], (reply) => {
      const [answer, nowMs] = reply as [UpsertAnswer, number];
      return { answer, nowMs };
    });
  }

  declare(worker: string, declares: boolean, schedules: readonly Pick<StoredSchedule, 'id' | 'version'>[]) {
    const each = schedules.flatMap(({ id, version }) => [id, version]);
    return this.call(
      'scheduleDeclare',
      [worker, declares ? '1' : '0', DECLARED_MS, ...each],
      (reply) => reply as ('declared' | 'conflict' | 'upsert')[],
    );
  }

  due(limit: number): ScriptCall<DueLook> {
    return this.call('scheduleDue', [limit, DECLARED_MS], (reply) => decodeDue(reply as (string | number)[]));
  }

  tick(ticks: readonly (DueSchedule & { nextDueMs: number })[]): ScriptCall<TickOutcome[]> {
    const args = ticks.flatMap(({ id, dueAtMs, version, nextDueMs }) => [id, dueAtMs, version, dueArg(nextDueMs)]);
    return this.call('scheduleTick', args, (reply) => reply as TickOutcome[]);
  }

  run(id: string, jobId: string) {
    return this.call('scheduleRun', [id, jobId], (reply) => {
      const [answer, standing, name] = reply as ['added' | 'exists' | 'kept' | 'missing', string, string];
      return { answer, jobId: standing, name };
    });
  }

  pause(id: string): ScriptCall<'paused' | 'missing'> {
    return this.call('schedulePause', [id], (reply) => reply as 'paused');
  }

  /** @param next the next due time, with the version of the definition that determined it */
  resume(id: string, next?: { dueMs: number; version: string }): ScriptCall<ResumeAnswer> {
    return this.call('scheduleResume', [id, dueArg(next?.dueMs), next?.version ?? ''], (reply) => {
      const [answer, nowMs, version, recurrence] = reply as [
        'resumed' | 'missing' | 'next',
        number,
        string,
        string,
      ];
      return answer === 'next'
        ? { answer, nowMs, version, recurrence: JSON.parse(recurrence) as Recurrence }
        : { answer };
    });
  }

  remove(id: string): ScriptCall<'removed' | 'missing' | 'declared'> {
    return this.call('scheduleRemove', [id, DECLARED_MS], (reply) => reply as 'removed');
  }

  list(offset: number, limit: number): ScriptCall<ScheduleRecord[]> {
    return this.records('', offset, limit);
  }

  /** Returns a list of one, or of none. */
  get(id: string): ScriptCall<ScheduleRecord[]> {
    return this.records(id, 0, 1);
  }

  private records(id: string, offset: number, limit: number): ScriptCall<ScheduleRecord[]> {
    return this.call('scheduleList', [id, offset, limit, DECLARED_MS], (reply) =>
      (reply as string[][]).map((hash) => decodeSchedule(this.keys.queue, hash)),
    );
  }

  private call<Answer>(
    script: ScriptCall<Answer>['script'],
    args: ScriptCall<Answer>['args'],
    decode: (reply: unknown) => Answer,
  ): ScriptCall<Answer> {
    return { script, keys: this.keys.standard, args, decode };
  }
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
