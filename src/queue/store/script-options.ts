// How options are sent. Those of a job: an object for the scripts, which contains the text for the worker. Limits: a list.
import type { z } from 'zod';
import {
  JOB_OPTIONS,
  type JobOption,
  type JobOptionName,
  type Table,
  type UniqueParts,
} from '../model/job-options.js';
import { GROUP_ORDER, type GroupsOptions } from '../model/limits.js';

type Sent<Option> = Option extends { encode: (value: never) => infer Value }
  ? Exclude<Value, undefined>
  : Option extends { schema: z.ZodType<infer Value> }
    ? Value
    : never;
type ScriptField<Option> = Option extends { script: infer Field extends string } ? Field : never;

/** The options of a job that scripts read. */
export type ScriptOptions = UniqueParts & {
  [Name in JobOptionName as ScriptField<Table[Name]>]?: Sent<Table[Name]>;
} & {
  /** JSON of its group's limits in code; '' for none. */
  group_limits?: string;
  /** Id of the call, if the job has an id of its own. */
  request?: string;
  /** JSON of the options that the worker reads. */
  worker?: string;
  /** Why a job of another queue cannot be waited for, and that job. */
  after_refusal?: [reason: 'unknown' | 'failed' | 'cancelled' | 'crowded', about: string];
};

/** Encodes checked options: one object for the scripts, one for the worker. It looks only at given options. */
export function encodeJobOptions(options: Partial<Record<JobOptionName, unknown>>): {
  script: ScriptOptions;
  worker: Record<string, unknown>;
} {
  const script: Record<string, unknown> = {};
  const worker: Record<string, unknown> = {};
  for (const name of Object.keys(options) as JobOptionName[]) {
    const option: JobOption = JOB_OPTIONS[name];
    const value = options[name];
    const sent = value === undefined || value === option.none ? undefined : encoded(option, value);
    if (sent === undefined) {
      continue;
    }
    if (typeof option.script === 'object') {
      Object.assign(script, option.script.write(value as never));
    } else if (option.script) {
      script[option.script] = sent;
    }
    if (option.worker) {
      worker[option.worker.field] = sent;
    }
  }
  return { script, worker };
}

function encoded({ encode }: JobOption, value: unknown): unknown {
  return encode ? encode(value as never) : value;
}

/** Returns the options that an enqueue gave, but its name and its id, which travel beside them. */
export function decodeJobOptions(script: ScriptOptions): Partial<Record<JobOptionName, unknown>> {
  const worker = JSON.parse(script.worker ?? '{}') as Record<string, unknown>;
  const options = Object.entries(JOB_OPTIONS).map(([name, option]: [string, JobOption]) => {
    if (typeof option.script === 'object') {
      return [name, option.script.read(script as never)];
    }
    const ofWorker = option.worker && worker[option.worker.field];
    const sent = option.script ? (script as Record<string, unknown>)[option.script] : ofWorker;
    return [name, sent === undefined || !option.decode ? sent : option.decode(sent as never)];
  });
  return Object.fromEntries(options.filter(([, value]) => value !== undefined)) as Partial<
    Record<JobOptionName, unknown>
  >;
}

/** The check of each stored option that the worker reads, by its field. */
export const storedOptionFields: Record<string, z.ZodType> = Object.fromEntries(
  Object.values(JOB_OPTIONS).flatMap(({ worker }: JobOption) =>
    worker ? [[worker.field, worker.stored.optional()]] : [],
  ),
);

/** Encodes limits for lua/group/set.lua: '' for none. */
export function groupArguments(limits: GroupsOptions): string[] {
  return [...runningAndRate(limits), ...GROUP_ORDER.map((name) => String(limits[name] ?? ''))];
}

/** Returns the first of them, which a queue has too. */
export function runningAndRate({
  maxRunning,
  rateLimit,
}: Pick<GroupsOptions, 'maxRunning' | 'rateLimit'>): string[] {
  const { limit, periodMs, burst = 1 } = rateLimit ?? {};
  const rate = limit === undefined ? ['', '', ''] : [limit, periodMs, burst];
  return [maxRunning ?? '', ...rate].map(String);
}
