import type { QueueCalls } from '../scripts/calls/queue-calls.js';
import type { ScriptArgument, ScriptCall, ScriptName } from '../transport/script-runner.js';

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
  mended?: false;
}

/** The most list entries that one check may pass over, which takes the server a few ms. */
const BUDGET = 100_000;

/** The number of jobs of each place that are compared with the counters. */
const COUNTED_LOOKS = 100;

/** Builds the calls of `lua/doctor`, one method per script, and decodes their replies; see the headers there. */
export class DoctorCalls {
  constructor(private readonly scripts: QueueCalls) {}

  look(ids: readonly string[]): ScriptCall<Map<string, Look>> {
    return this.call('doctorScan', ids, (reply) => {
      const looks = rowsOf(reply as string[], 3);
      return new Map(looks.map(([id, verdict, status]) => [id!, { verdict, status } as Look]));
    });
  }

  /** Returns how many of the first ids were judged, and the faults among them. */
  judge(ids: readonly string[], mend: boolean): ScriptCall<{ judged: number; faults: Fault[] }> {
    const { retention, options } = this.scripts;
    const args = [...retention, mend ? '1' : '0', options.visibilityMs, BUDGET, ...ids];
    return this.call('doctorInspect', args, (reply) => {
      const [judged, ...rest] = reply as [number | string, ...string[]];
      const faults = rowsOf(rest, 4).map(([id, kind, found, expected]) => faultOf(id!, kind!, found!, expected!));
      return { judged: Number(judged), faults };
    });
  }

  unique(uniqueKeys: readonly string[], mend: boolean): ScriptCall<Fault[]> {
    return this.call('doctorUnique', [mend ? '1' : '0', ...uniqueKeys], (reply) =>
      rowsOf(reply as string[], 2).map(([key, found]) =>
        faultOf(key!, 'unique', found!, 'held by an unfinished job'),
      ),
    );
  }

  groups(names: readonly string[], mend: boolean): ScriptCall<Fault[]> {
    return this.call('doctorGroups', [mend ? '1' : '0', ...names], (reply) =>
      rowsOf(reply as string[], 3).map(([name, found, expected]) => faultOf(name!, 'group', found!, expected!)),
    );
  }

  /** @param keepMs how long the rest of a batch stays, in ms */
  batches(ids: readonly string[], keepMs: number, mend: boolean): ScriptCall<Fault[]> {
    return this.call('doctorBatches', [mend ? '1' : '0', keepMs, ...ids], (reply) =>
      rowsOf(reply as string[], 3).map(([id, found, expected]) => faultOf(id!, 'batch', found!, expected!)),
    );
  }

  counters(mend: boolean, exclusive: boolean): ScriptCall<Fault[]> {
    return this.call('doctorCounters', [mend ? '1' : '0', COUNTED_LOOKS, exclusive ? '1' : '0'], (reply) =>
      rowsOf(reply as string[], 4).map(([counter, found, expected, mended]) => ({
        ...faultOf(counter!, 'counter', found!, expected!),
        ...(Number(mended) === 0 && { mended: false }),
      })),
    );
  }

  private call<Answer>(
    script: ScriptName,
    args: readonly ScriptArgument[],
    decode: (reply: unknown) => Answer,
  ): ScriptCall<Answer> {
    return { script, keys: this.scripts.keys.standard, args, decode };
  }
}

function faultOf(subject: string, kind: string, found: string, expected: string): Fault {
  return { subject, kind, found, expected };
}

function rowsOf(reply: readonly string[], width: number): string[][] {
  return Array.from({ length: reply.length / width }, (_, i) => reply.slice(i * width, (i + 1) * width));
}
