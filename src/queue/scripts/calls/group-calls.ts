import { flagOf, listOf, rowsOf, wholeNumberOf } from '../../replies/check-reply.js';
import type { GroupStats } from '../../model/group.js';
import type { ScriptArgument, ScriptCall } from '../../transport/script-runner.js';
import type { GroupVerbs } from '../../store/verbs/group-verbs.js';
import { decodeClean } from '../../replies/decode-clean.js';
import { decodeGroupLimits } from '../../replies/decode-limits.js';
import { groupArguments } from '../encode-limits.js';
import { type CallContext, call } from '../script-call.js';

/** Columns of one group in the reply of `lua/group/list.lua`. */
const COLUMNS = 19;

/** Returns the calls of `lua/group`, one for each script; see GroupVerbs and the headers there. */
export function groupCalls({ keys }: CallContext) {
  function listCall(args: readonly ScriptArgument[]): ScriptCall<GroupStats[]> {
    return call('groupList', keys.standard, args, (reply) => {
      const [first, ...values] = listOf(reply);
      const now = wholeNumberOf(first);
      return rowsOf(values, COLUMNS).map((row) => decodeGroup(now, row));
    });
  }

  return {
    list: ({ by, offset, limit }) => listCall([by, offset, limit]),

    named: (names) => listCall(['name', 0, 0, ...names]),

    set: (name, limits) => call('groupSet', keys.standard, [name, ...groupArguments(limits)], () => undefined),

    clear: (name) => call('groupClear', keys.standard, [name], () => undefined),

    pause: (name, { by = '', reason = '', forMs }) =>
      call('groupPause', keys.standard, [name, by, reason, forMs ?? ''], flagOf),

    extendPause: (name, knownEndMs, forMs) =>
      call('groupExtendPause', keys.standard, [name, knownEndMs, forMs], flagOf),

    resume: (name) => call('groupResume', keys.standard, [name], flagOf),

    clean: (name, olderThanMs, limit, passed) =>
      call('groupClean', keys.standard, [name, olderThanMs, limit, passed], decodeClean),
  } satisfies GroupVerbs;
}

function date(text: string | undefined): Date | null {
  return text ? new Date(Number(text)) : null;
}

function decodeGroup(now: number, row: readonly string[]): GroupStats {
  const [name, pending, running, readyAt, pausedAt, heldBy, opensAt, ...others] = row;
  const [limits, pausedBy, pauseReason, pausedUntil] = [others.slice(0, -3), ...others.slice(-3)];
  return {
    name: name!,
    pending: Number(pending),
    running: Number(running),
    oldestPendingAgeMs: readyAt ? Math.max(0, now - Number(readyAt)) : 0,
    pausedAt: date(pausedAt),
    ...(pausedBy && { pausedBy }),
    ...(pauseReason && { pauseReason }),
    ...(pausedUntil && { pausedUntil: new Date(Number(pausedUntil)) }),
    heldBy: heldBy || null,
    opensAt: date(opensAt),
    limits: decodeGroupLimits(limits),
  };
}
