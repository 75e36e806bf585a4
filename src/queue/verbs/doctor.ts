// The verbs of the audit of a queue: the scripts of lua/doctor.
import { flagOf, listOf, oneOf, rowsOf, wholeNumberOf } from '../replies/check-reply.js';
import { each, flag, number, optional, own, text, verb, word } from './verb.js';

/** The result of the first look at a suspicious job. */
export interface Look {
  /** `nowhere`: in no sorted set. `absent`: nor has it a hash. `odd`: something is wrong. */
  verdict: 'nowhere' | 'absent' | 'odd';
  status: string;
}

/** Damage, as a script reports it. */
export interface Fault {
  subject: string;
  kind: string;
  found: string;
  expected: string;
  /** False for damage that is never repaired. */
  repaired?: false;
}

/** A list of jobs that have ended. */
export type History = 'completed' | 'failed' | 'cancelled';

const LOOKED = oneOf('nowhere', 'absent', 'odd');

/** The most list entries that one check may pass over, which takes the server a few ms. */
const BUDGET = 100_000;

/** The number of jobs of each place that are compared with the counters. */
const COUNTED_LOOKS = 100;

/** The most members of one sorted set that a step checks for instants that are too late. */
export const INSTANTS = 100;

const ids = each(text);
const repair = flag;
const budget = own(() => BUDGET);

export const DOCTOR = {
  scan: verb('doctorScan', {
    args: { ids },
    reply(reply) {
      const looks = rowsOf(reply, 3);
      return new Map<string, Look>(
        looks.map(([id, verdict, status]) => [id!, { verdict: LOOKED(verdict), status: status! }]),
      );
    },
  }),

  /** Returns how many of the first ids were judged, and the faults among them. */
  inspect: verb('doctorInspect', {
    args: {
      retention: own((context) => context.retention),
      repair,
      visibilityMs: own((context) => context.options.visibilityMs),
      budget,
      ids,
    },
    reply(reply) {
      const [judged, ...rest] = listOf(reply);
      const faults = rowsOf(rest, 4).map(([id, kind, found, expected]) => faultOf(id!, kind!, found!, expected!));
      return { judged: wholeNumberOf(judged), faults };
    },
  }),

  /** Returns how many of the first ids were judged, and the faults among them. */
  histories: verb('doctorHistories', {
    args: { repair, state: word<History>(), budget, ids },
    reply(reply) {
      const [judged, ...rest] = listOf(reply);
      const faults = rowsOf(rest, 2).map(([id, found]) => faultOf(id!, 'double', found!, 'once'));
      return { judged: wholeNumberOf(judged), faults };
    },
  }),

  unique: verb('doctorUnique', {
    args: { repair, uniqueKeys: each(text) },
    reply: (reply) => rowsOf(reply, 4).map(kindedFault),
  }),

  groups: verb('doctorGroups', {
    args: { repair, names: each(text) },
    reply: (reply) => rowsOf(reply, 4).map(kindedFault),
  }),

  /** Returns instants that the clock of now cannot have made. @param given.offset how many of each set to pass over */
  clocks: verb('doctorClocks', {
    args: {
      repair,
      lateMs: own((context) => Math.round(context.options.visibilityMs / 3)),
      offset: optional(number, 0),
      most: own(() => INSTANTS),
    },
    reply(reply) {
      const [more, ...rest] = listOf(reply);
      const faults = rowsOf(rest, 3).map(([subject, found, latest]) =>
        instantFault(subject!, Number(found), Number(latest)),
      );
      return { more: flagOf(more), faults };
    },
  }),

  /** @param given.keepMs how long the rest of a batch stays, in ms */
  batches: verb('doctorBatches', {
    args: { repair, keepMs: number, ids },
    reply: (reply) => rowsOf(reply, 3).map(([id, found, expected]) => faultOf(id!, 'batch', found!, expected!)),
  }),

  counters: verb('doctorCounters', {
    args: { repair, looks: own(() => COUNTED_LOOKS), exclusive: flag },
    reply: (reply) =>
      rowsOf(reply, 4).map(([counter, found, expected, repaired]) => ({
        ...faultOf(counter!, 'counter', found!, expected!),
        ...(Number(repaired) === 0 && { repaired: false as const }),
      })),
  }),
};

/** Returns the fault of an instant that is later than the clock of now can have made it. */
export function instantFault(subject: string, foundMs: number, latestMs: number): Fault {
  return faultOf(subject, 'clock', instant(foundMs), `at most ${instant(latestMs)}`);
}

/** Returns an instant as text. Another program may have written a number that no date has. */
function instant(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

function kindedFault([subject, kind, found, expected]: string[]): Fault {
  return kind === 'clock'
    ? instantFault(subject!, Number(found), Number(expected))
    : faultOf(subject!, kind!, found!, expected!);
}

function faultOf(subject: string, kind: string, found: string, expected: string): Fault {
  return { subject, kind, found, expected };
}
