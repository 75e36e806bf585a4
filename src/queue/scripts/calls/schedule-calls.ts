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
import type { Recurrence } from '../../model/schedule.js';
import type { DueLook, ScheduleVerbs } from '../../store/verbs/schedule-verbs.js';
import { encodeJobOptions } from '../encode-job-options.js';
import { type CallContext, call } from '../script-call.js';

// The outcomes of each script, as in its header.
const UPSERTED = oneOf('created', 'changed', 'unchanged', 'conflict', 'declared', 'stale', 'next');
const RAN = oneOf('added', 'exists', 'kept', 'missing');
const RESUMED = oneOf('resumed', 'missing', 'next');

/** Returns the calls of `lua/schedule`, one for each script; see ScheduleVerbs and the headers there. */
export function scheduleCalls({ keys }: CallContext) {
  const records = (id: string, offset: number, limit: number) =>
    call('scheduleList', keys.standard, [id, offset, limit, DECLARED_MS], (reply) =>
      listOf(reply).map((hash) => decodeSchedule(keys.queue, rowsOf(hash, 2).flat())),
    );

  return {
    upsert(schedule, worker, nextDueMs, knownAt?) {
      const { id, version, recurrence, name, payload, options, onMissed, missedAfterMs } = schedule;
      const args = [
        id,
        worker === undefined ? 'call' : 'code',
        worker ?? '',
        dueArg(nextDueMs),
        DECLARED_MS,
        version,
        JSON.stringify(recurrence),
        name,
        payload,
        encodeJobOptions(options),
        onMissed,
        missedAfterMs,
        recurrence.limit ?? '',
        knownAt === null ? 'absent' : (knownAt?.getTime() ?? ''),
      ];
      return call('scheduleUpsert', keys.standard, args, (reply) => {
        const [outcome, nowMs] = listOf(reply);
        return { outcome: UPSERTED(outcome), nowMs: wholeNumberOf(nowMs) };
      });
    },

    declare(worker, declares, schedules) {
      const each = schedules.flatMap(({ id, version }) => [id, version]);
      const args = [worker, declares ? '1' : '0', DECLARED_MS, ...each];
      const decode = oneOfEach(schedules.length, 'declared', 'conflict', 'upsert');
      return call('scheduleDeclare', keys.standard, args, decode);
    },

    due: (limit, othersFrom?) =>
      call('scheduleDue', keys.standard, [limit, DECLARED_MS, othersFrom ?? ''], (reply) =>
        decodeDue(listOf(reply)),
      ),

    tick(ticks) {
      const args = ticks.flatMap(({ id, dueAtMs, version, nextDueMs }) => [
        id,
        dueAtMs,
        version,
        dueArg(nextDueMs),
      ]);
      const decode = oneOfEach(ticks.length, 'enqueued', 'kept', 'skipped', 'moved', 'lost');
      return call('scheduleTick', keys.standard, args, decode);
    },

    run: (id, jobId) =>
      call('scheduleRun', keys.standard, [id, jobId], (reply) => {
        const [outcome, madeId = '', name = ''] = listOf(reply);
        return { outcome: RAN(outcome), jobId: textOf(madeId), name: textOf(name) };
      }),

    pause: (id) => call('schedulePause', keys.standard, [id], oneOf('paused', 'missing')),

    resume: (id, next?) =>
      call('scheduleResume', keys.standard, [id, dueArg(next?.dueMs), next?.version ?? ''], (reply) => {
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
      }),

    remove: (id) =>
      call('scheduleRemove', keys.standard, [id, DECLARED_MS], oneOf('removed', 'missing', 'declared')),

    list: (offset, limit) => records('', offset, limit),

    get: (id) => records(id, 0, 1),
  } satisfies ScheduleVerbs;
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
