import { flagOf, listOf, oneOf, rowsOf, wholeNumberOf } from '../../replies/check-reply.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { type CallContext, call } from '../script-call.js';

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

/** Returns the calls of `lua/doctor`, one for each script; see the headers there. */
export function doctorCalls({ keys, options, retention }: CallContext) {
  return {
    scan(ids: readonly string[]): ScriptCall<Map<string, Look>> {
      return call('doctorScan', keys.standard, ids, (reply) => {
        const looks = rowsOf(reply, 3);
        return new Map(looks.map(([id, verdict, status]) => [id!, { verdict: LOOKED(verdict), status: status! }]));
      });
    },

    /** Returns how many of the first ids were judged, and the faults among them. */
    inspect(ids: readonly string[], repair: boolean): ScriptCall<{ judged: number; faults: Fault[] }> {
      const args = [...retention, repair ? '1' : '0', options.visibilityMs, BUDGET, ...ids];
      return call('doctorInspect', keys.standard, args, (reply) => {
        const [judged, ...rest] = listOf(reply);
        const faults = rowsOf(rest, 4).map(([id, kind, found, expected]) => faultOf(id!, kind!, found!, expected!));
        return { judged: wholeNumberOf(judged), faults };
      });
    },

    /** Returns how many of the first ids were judged, and the faults among them. */
    histories(
      state: History,
      ids: readonly string[],
      repair: boolean,
    ): ScriptCall<{ judged: number; faults: Fault[] }> {
      return call('doctorHistories', keys.standard, [repair ? '1' : '0', state, BUDGET, ...ids], (reply) => {
        const [judged, ...rest] = listOf(reply);
        const faults = rowsOf(rest, 2).map(([id, found]) => faultOf(id!, 'double', found!, 'once'));
        return { judged: wholeNumberOf(judged), faults };
      });
    },

    unique(uniqueKeys: readonly string[], repair: boolean): ScriptCall<Fault[]> {
      return call('doctorUnique', keys.standard, [repair ? '1' : '0', ...uniqueKeys], (reply) =>
        rowsOf(reply, 4).map(kindedFault),
      );
    },

    groups(names: readonly string[], repair: boolean): ScriptCall<Fault[]> {
      return call('doctorGroups', keys.standard, [repair ? '1' : '0', ...names], (reply) =>
        rowsOf(reply, 4).map(kindedFault),
      );
    },

    /** Returns instants that the clock of now cannot have made. @param offset how many of each set to pass over */
    clocks(repair: boolean, offset = 0): ScriptCall<{ more: boolean; faults: Fault[] }> {
      const args = [repair ? '1' : '0', Math.round(options.visibilityMs / 3), offset, INSTANTS];
      return call('doctorClocks', keys.standard, args, (reply) => {
        const [more, ...rest] = listOf(reply);
        const faults = rowsOf(rest, 3).map(([subject, found, latest]) =>
          instantFault(subject!, Number(found), Number(latest)),
        );
        return { more: flagOf(more), faults };
      });
    },

    /** @param keepMs how long the rest of a batch stays, in ms */
    batches(ids: readonly string[], keepMs: number, repair: boolean): ScriptCall<Fault[]> {
      return call('doctorBatches', keys.standard, [repair ? '1' : '0', keepMs, ...ids], (reply) =>
        rowsOf(reply, 3).map(([id, found, expected]) => faultOf(id!, 'batch', found!, expected!)),
      );
    },

    counters(repair: boolean, exclusive: boolean): ScriptCall<Fault[]> {
      return call(
        'doctorCounters',
        keys.standard,
        [repair ? '1' : '0', COUNTED_LOOKS, exclusive ? '1' : '0'],
        (reply) =>
          rowsOf(reply, 4).map(([counter, found, expected, repaired]) => ({
            ...faultOf(counter!, 'counter', found!, expected!),
            ...(Number(repaired) === 0 && { repaired: false }),
          })),
      );
    },
  };
}

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
