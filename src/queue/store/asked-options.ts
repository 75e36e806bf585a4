// The options of a job on their way to its store, which alone encodes them.
import type { z } from 'zod';
import { JOB_OPTIONS, type JobOption, type JobOptionName, type Table } from '../model/job-options.js';
import type { GroupLimits } from '../model/limits.js';

type Asked<Option> = Option extends { encode: (value: never) => infer Value }
  ? Exclude<Value, undefined>
  : Option extends { schema: z.ZodType<infer Value> }
    ? Value
    : never;

/** The options of a job: checked, in their sent form, and without those that mean none. */
export type AskedOptions = {
  [Name in JobOptionName]?: Asked<Table[Name]>;
} & {
  /** The limits in code of its group; null for none. Absent if the queue has no overrides. */
  groupLimits?: GroupLimits | null;
  /** Id of the call, if the job has an id of its own. */
  request?: string;
  /** The id under which its payload was encoded, if it may replace that of another job. */
  payloadId?: string;
  /** True if a batch in another queue knows a job of this id as its member. The hash of that job may be gone. */
  wasMember?: true;
  /** Why a job of another queue cannot be waited for, and that job; see refTo. */
  afterRefusal?: [reason: 'unknown' | 'failed' | 'cancelled' | 'crowded', about: string];
};

/** The options that travel beside the others. */
const BESIDE: readonly JobOptionName[] = ['name', 'id', 'durability'];

/** Returns checked options in their sent form. It looks only at given options. */
export function askedOptions(options: Partial<Record<JobOptionName, unknown>>): AskedOptions {
  const asked: Record<string, unknown> = {};
  for (const name of Object.keys(options) as JobOptionName[]) {
    const { encode, none }: JobOption = JOB_OPTIONS[name];
    const value = options[name];
    if (value === undefined || value === none || BESIDE.includes(name)) {
      continue;
    }
    const sent = encode ? encode(value as never) : value;
    if (sent !== undefined) {
      asked[name] = sent;
    }
  }
  return asked;
}
