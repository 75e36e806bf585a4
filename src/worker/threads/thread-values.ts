// The values that cross between a thread and its worker. `npm run embed` bundles this file for the threads.
import { types } from 'node:util';
import { encodeJson } from '../../queue/codec/encode-content.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { validateBulk } from '../../queue/enqueue/validate-bulk.js';
import { brandCheck } from '../../queue/errors/brand.js';
import { InvalidPayloadError } from '../../queue/errors/errors.js';
import { validateWithSchema, type Hiding } from '../../queue/validation/validate-with-schema.js';
import { checkLogLine } from '../handlers/log-line.js';
import { Measurement } from '../handlers/measurement.js';

export { checkLogLine, InvalidPayloadError, Measurement };

/** Its own check, so that the threads load no class of definitions. */
const isJobDefinition: (job: unknown) => job is JobDefinition = brandCheck('JobDefinition');

/** A value on its way: its JSON, or a copy for a codec that takes more than JSON. Neither for undefined. */
export interface SentValue {
  json?: string;
  copy?: unknown;
}

/** How a thread sends values. */
export interface ThreadContent {
  /** False if the codec of the queue takes more than JSON. */
  asJson: boolean;
  /** True if errors must not show values. */
  isRedacted: boolean;
}

/** The job of new members of a batch on its way: its name, or its definition without the schemas. */
export interface SentJob {
  name: unknown;
  defaults?: object;
}

/** A new member of a batch on its way. */
export interface SentMember {
  payload: SentValue;
  options: object;
}

/** Hides all values in errors of a thread, because it does not have the function that says which ones. */
const HIDING: Hiding = {
  mark: '(hidden by redact)',
  visible: () => undefined,
  look: () => ({ keys: [], isWhole: false }),
  texts: () => (text) => text,
};

/**
 * Checks a new member of a batch in the thread that adds it. The schema of a definition checks its payload here, because
 * no schema can be sent.
 *
 * @throws InvalidPayloadError
 */
export async function sentMember(
  job: unknown,
  payload: unknown,
  { asJson, isRedacted }: ThreadContent,
  subject = 'payload',
): Promise<{ job: SentJob; payload: SentValue }> {
  const sent = sentValue(subject, payload, asJson);
  if (isJobDefinition(job)) {
    const { payload: schema } = job;
    await validateWithSchema(subject, schema, receivedValue(sent), isRedacted ? HIDING : undefined);
  }
  return { job: sentJob(job), payload: sent };
}

/** Checks many new members, see sentMember. @throws InvalidPayloadError, InvalidOptionError */
export async function sentMembers(
  job: unknown,
  jobs: readonly { payload: unknown }[],
  content: ThreadContent,
): Promise<SentMember[]> {
  const sent = validateBulk(jobs).map(async ({ payload, ...options }, i) => {
    const member = await sentMember(job, payload, content, `enqueueMany[${i}].payload`);
    return { payload: member.payload, options };
  });
  return Promise.all(sent);
}

/** Returns a job as data. The backoff of a definition, if it is a function, works only in the process of its handler. */
export function sentJob(job: unknown): SentJob {
  if (!isJobDefinition(job)) {
    return { name: job };
  }
  const { name, defaults } = job;
  const { backoff, ...others } = defaults;
  return { name, defaults: { ...others, ...(typeof backoff !== 'function' && { backoff }) } };
}

/** Returns a value that another thread sent. */
export function receivedValue({ json, copy }: SentValue): unknown {
  return json === undefined ? copy : (JSON.parse(json) as unknown);
}

/**
 * Checks a value in its thread as the worker would, because a structured clone loses classes and their `toJSON`.
 *
 * @param subject the name of the value in errors
 * @param asJson false if the queue's codec takes more than JSON
 * @throws InvalidPayloadError
 */
export function sentValue(subject: string, value: unknown, asJson: boolean): SentValue {
  if (value === undefined && subject === 'result') {
    return {};
  }
  if (asJson) {
    return { json: encodeJson(subject, value, Infinity) };
  }
  try {
    return { copy: structuredClone(portable(value)) }; // finds here what cannot be copied
  } catch (error) {
    throw new InvalidPayloadError(subject, 'a value that can be copied from its thread', (error as Error).message);
  }
}

/** Returns a value with the result of each `toJSON` in place of its object. Dates and the like, which a copy keeps, stay. */
export function portable(value: unknown, copies = new Map<object, unknown>()): unknown {
  if (typeof value !== 'object' || value === null || types.isDate(value) || ArrayBuffer.isView(value)) {
    return value;
  }
  if (copies.has(value)) {
    return copies.get(value);
  }
  const { toJSON } = value as { toJSON?: unknown };
  const source: unknown = typeof toJSON === 'function' ? toJSON.call(value, '') : value;
  if (typeof source !== 'object' || source === null || !(Array.isArray(source) || isPlainObject(source))) {
    return source;
  }
  const copy = (Array.isArray(source) ? [] : Object.create(null)) as Record<string, unknown>;
  copies.set(value, copy);
  for (const [key, field] of Object.entries(source)) {
    copy[key] = portable(field, copies);
  }
  return copy;
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
