// The values that cross between a thread and its worker. `npm run embed` bundles this file for the threads.
import { types } from 'node:util';
import { encodeJson } from '../../queue/codec/encode-content.js';
import { InvalidPayloadError } from '../../queue/errors/errors.js';
import { checkLogLine } from '../handlers/log-line.js';

export { checkLogLine, InvalidPayloadError };

/** A value on its way: its JSON, or a copy for a codec that takes more than JSON. Neither for undefined. */
export interface SentValue {
  json?: string;
  copy?: unknown;
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
  if (typeof source !== 'object' || source === null || !(Array.isArray(source) || isPlain(source))) {
    return source;
  }
  const copy = (Array.isArray(source) ? [] : Object.create(null)) as Record<string, unknown>;
  copies.set(value, copy);
  for (const [key, field] of Object.entries(source)) {
    copy[key] = portable(field, copies);
  }
  return copy;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
