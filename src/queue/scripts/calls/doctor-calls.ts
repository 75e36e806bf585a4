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

/** The most list entries that one check may pass over, which takes the server a few ms. */
const BUDGET = 100_000;

/** The number of jobs of each place that are compared with the counters. */
const COUNTED_LOOKS = 100;

/** Returns the calls of `lua/doctor`, one for each script; see the headers there. */
export function doctorCalls({ keys, options, retention }: CallContext) {
  return {
    scan(ids: readonly string[]): ScriptCall<Map<string, Look>> {
      return call('doctorScan', keys.standard, ids, (reply) => {
        const looks = rowsOf(reply as string[], 3);
        return new Map(looks.map(([id, verdict, status]) => [id!, { verdict, status } as Look]));
      });
    },

    /** Returns how many of the first ids were judged, and the faults among them. */
    inspect(ids: readonly string[], repair: boolean): ScriptCall<{ judged: number; faults: Fault[] }> {
      const args = [...retention, repair ? '1' : '0', options.visibilityMs, BUDGET, ...ids];
      return call('doctorInspect', keys.standard, args, (reply) => {
        const [judged, ...rest] = reply as [number | string, ...string[]];
        const faults = rowsOf(rest, 4).map(([id, kind, found, expected]) => faultOf(id!, kind!, found!, expected!));
        return { judged: Number(judged), faults };
      });
    },

    unique(uniqueKeys: readonly string[], repair: boolean): ScriptCall<Fault[]> {
      return call('doctorUnique', keys.standard, [repair ? '1' : '0', ...uniqueKeys], (reply) =>
        rowsOf(reply as string[], 2).map(([key, found]) =>
          faultOf(key!, 'unique', found!, 'held by an unfinished job'),
        ),
      );
    },

    groups(names: readonly string[], repair: boolean): ScriptCall<Fault[]> {
      return call('doctorGroups', keys.standard, [repair ? '1' : '0', ...names], (reply) =>
        rowsOf(reply as string[], 3).map(([name, found, expected]) => faultOf(name!, 'group', found!, expected!)),
      );
    },

    /** @param keepMs how long the rest of a batch stays, in ms */
    batches(ids: readonly string[], keepMs: number, repair: boolean): ScriptCall<Fault[]> {
      return call('doctorBatches', keys.standard, [repair ? '1' : '0', keepMs, ...ids], (reply) =>
        rowsOf(reply as string[], 3).map(([id, found, expected]) => faultOf(id!, 'batch', found!, expected!)),
      );
    },

    counters(repair: boolean, exclusive: boolean): ScriptCall<Fault[]> {
      return call(
        'doctorCounters',
        keys.standard,
        [repair ? '1' : '0', COUNTED_LOOKS, exclusive ? '1' : '0'],
        (reply) =>
          rowsOf(reply as string[], 4).map(([counter, found, expected, repaired]) => ({
            ...faultOf(counter!, 'counter', found!, expected!),
            ...(Number(repaired) === 0 && { repaired: false }),
          })),
      );
    },
  };
}

function faultOf(subject: string, kind: string, found: string, expected: string): Fault {
  return { subject, kind, found, expected };
}

function rowsOf(reply: readonly string[], width: number): string[][] {
  return Array.from({ length: reply.length / width }, (_, i) => reply.slice(i * width, (i + 1) * width));
}
