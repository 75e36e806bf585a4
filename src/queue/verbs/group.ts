// The verbs of the groups of a queue: the scripts of lua/group.
import type { AwaitingGroups, GroupStats } from '../model/group.js';
import type { GroupLimits } from '../model/limits.js';
import { flagOf, listOf, rowsOf, textOf, wholeNumberOf, decodeClean } from '../replies/check-reply.js';
import { decodeGroupLimits } from '../replies/decode-limits.js';
import { groupArguments } from '../scripts/encode-limits.js';
import { by, each, number, optional, own, text, verb, word } from './verb.js';

/** Columns of one group in the reply of `lua/group/list.lua`. */
const COLUMNS = 19;

export const GROUPS = {
  /** Returns one page of the groups. */
  list: verb('groupList', {
    args: { by: word<'depth' | 'age'>(), offset: number, limit: number },
    reply: decodeGroups,
  }),

  /** Returns one entry for each name, even without jobs. */
  named: verb('groupList', {
    args: { page: own(() => ['name', 0, 0]), names: each(text) },
    reply: decodeGroups,
  }),

  set: verb('groupSet', {
    args: { name: text, limits: by<GroupLimits>(groupArguments) },
    reply: () => undefined,
  }),

  clear: verb('groupClear', { args: { name: text }, reply: () => undefined }),

  /** Returns whether it was not paused before. */
  pause: verb('groupPause', {
    args: { name: text, by: optional(text), reason: optional(text), forMs: optional(number) },
    reply: flagOf,
  }),

  /** Gives a pause with this end a later one. Returns false if the pause has another end, or none. */
  extendPause: verb('groupExtendPause', {
    args: { name: text, knownEndMs: number, forMs: number },
    reply: flagOf,
  }),

  /** Returns whether it was paused. */
  resume: verb('groupResume', { args: { name: text }, reply: flagOf }),

  /** Ends the rest of a group that waits for a permit of its key. */
  endRest: verb('groupEndRest', { args: { name: text }, reply: () => undefined }),

  /** Returns the groups that rest because their key of a limit had no free permit. */
  awaitingPermit: verb('groupAwaitingPermit', {
    args: { limit: number },
    reply(reply): AwaitingGroups {
      const [groups, jobs, ...names] = listOf(reply);
      return { groups: wholeNumberOf(groups), jobs: wholeNumberOf(jobs), names: names.map(textOf) };
    },
  }),

  /** @param given.passed how many to pass over, as the last call returned */
  clean: verb('groupClean', {
    args: { name: text, olderThanMs: number, limit: number, passed: number },
    reply: decodeClean,
  }),
};

function decodeGroups(reply: unknown): GroupStats[] {
  const [first, ...values] = listOf(reply);
  const now = wholeNumberOf(first);
  return rowsOf(values, COLUMNS).map((row) => decodeGroup(now, row));
}

function date(ms: string | undefined): Date | null {
  return ms ? new Date(Number(ms)) : null;
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
