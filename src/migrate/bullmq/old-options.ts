// The options of a job of BullMQ or Bull, as its hash has them.
import { z } from 'zod';
import type { StoredBackoff } from '../../queue/model/backoff.js';

const backoffSchema = z.union([
  z.number(),
  z.looseObject({ type: z.string(), delay: z.number().optional(), jitter: z.number().optional() }),
]);
const number = z.number().nullish();

const optionsSchema = z.looseObject({
  attempts: number,
  priority: number,
  backoff: backoffSchema.nullish(),
  removeOnComplete: z.unknown().optional(),
  timeout: number,
  tm: z.unknown().optional(),
  repeat: z.looseObject({ key: z.string().optional() }).nullish(),
});

/** The options that are translated, and the names of the others. */
export interface OldOptions {
  attempts: number | undefined;
  priority: number | undefined;
  backoff: z.output<typeof backoffSchema> | undefined;
  resultTtlMs: number | undefined;
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  repeat: { key?: string | undefined } | undefined;
  others: string[];
}

/** The options that the move itself replaces, or that mean nothing here. */
const REPLACED = new Set(
  'attempts priority backoff timeout repeat jobId delay timestamp prevMillis repeatJobKey de debounce deduplication lifo'.split(
    ' ',
  ),
);
/** The names of shortened options. */
const NAMES: Readonly<Record<string, string>> = {
  kl: 'keepLogs',
  tm: 'telemetry',
  omc: 'telemetry.omitContext',
  fpof: 'failParentOnFailure',
  cpof: 'continueParentOnFailure',
  idof: 'ignoreDependencyOnFailure',
  rdof: 'removeDependencyOnFailure',
};

/** @throws Error for options that cannot be read */
export function readOptions(json = '{}'): OldOptions {
  const parsed = optionsSchema.safeParse(JSON.parse(json));
  if (!parsed.success) {
    throw new Error('its options cannot be read');
  }
  const { attempts, priority, backoff, removeOnComplete, timeout, tm, repeat, ...rest } = parsed.data;
  const age = (removeOnComplete as { age?: unknown } | null | undefined)?.age;
  const resultTtlMs = typeof age === 'number' && age > 0 ? Math.round(age * 1_000) : undefined;
  const traceparent = traceparentOf(tm);
  const others = {
    ...rest,
    ...(resultTtlMs === undefined && removeOnComplete !== undefined && { removeOnComplete }),
    ...(traceparent === undefined && tm !== undefined && { tm }),
  };
  return {
    attempts: attempts ?? undefined,
    priority: priority ?? undefined,
    backoff: backoff ?? undefined,
    resultTtlMs,
    timeoutMs: timeout ?? undefined,
    traceparent,
    repeat: repeat ?? undefined,
    others: Object.keys(others).filter((name) => !REPLACED.has(name)),
  };
}

function traceparentOf(carrier: unknown): string | undefined {
  const [found] = /[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}/.exec(JSON.stringify(carrier) ?? '') ?? [];
  return found;
}

/** Returns the names of the options that have no counterpart. */
export function droppedOptions({ others }: OldOptions): string[] {
  return others.map((name) => NAMES[name] ?? name);
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 31_536_000_000;

/** Returns the delay before a retry, or why the operator must choose one. Without one a retry comes at once, as there. */
export function backoffOf(
  old: OldOptions['backoff'],
  chosen: ReadonlyMap<string, StoredBackoff>,
  attempts: number,
): { value: StoredBackoff; reason?: undefined } | { reason: string } {
  if (old === undefined || typeof old === 'number') {
    return { value: old ?? 0 };
  }
  const { type, delay: delayMs = 0, jitter } = old;
  if (type === 'fixed' || type === 'exponential') {
    const longest = Math.min(YEAR_MS, delayMs * 2 ** Math.max(0, attempts - 2));
    return {
      value: {
        type,
        delayMs,
        jitter: jitter ?? 0,
        // There it has no bound, and here one of an hour by default.
        ...(type === 'exponential' && longest > HOUR_MS && { maxDelayMs: Math.max(delayMs, longest) }),
      },
    };
  }
  const value = chosen.get(type);
  return value === undefined
    ? { reason: `its backoff ${JSON.stringify(type)} is code: pass --backoff ${type}=exponential:1000` }
    : { value };
}
