import { decodeContent, type JobCodec } from '../codec/codec.js';
import { readErrorMessage } from '../codec/failure-job.js';
import type { JobEvent } from '../model/job-event.js';

/** The content of events that have several listeners, and the codec that decoded it. */
const known = new WeakMap<JobEvent, { codec: JobCodec | undefined; decoded: JobEvent }>();

/** Decodes the content of an event with the queue's codec, once for all its listeners. Unreadable content is left out. */
export function decodeEvent(codec: JobCodec | undefined, queue: string, event: JobEvent): JobEvent {
  const before = known.get(event);
  if (before && before.codec === codec) {
    return before.decoded;
  }
  const decoded = decodeContentOf(codec, queue, event);
  known.set(event, { codec, decoded });
  return decoded;
}

function decodeContentOf(codec: JobCodec | undefined, queue: string, event: JobEvent): JobEvent {
  const { error, progress, result, ...rest } = event;
  const owner = { queue, id: event.id };
  return {
    ...rest,
    ...read('error', () => error && readErrorMessage(codec, error, { ...owner, field: 'error' })),
    ...read('progress', () => decodeContent(codec, progress, 'progress', owner)),
    ...read('result', () => decodeContent(codec, result, 'result', owner)),
  };
}

function read(field: 'error' | 'progress' | 'result', decode: () => unknown): Partial<JobEvent> {
  try {
    const content = decode();
    return content === undefined ? {} : { [field]: content };
  } catch {
    return {};
  }
}
