import { decodeContent, decodeText, type JobCodec } from '../codec/codec.js';
import type { JobEvent } from '../model/job-event.js';

/** Decodes the content of an event with the queue's codec. Unreadable content is left out. */
export function decodeEvent(codec: JobCodec | undefined, event: JobEvent): JobEvent {
  const { error, progress, result, ...rest } = event;
  return {
    ...rest,
    ...read('error', () => error && errorMessage(codec, error)),
    ...read('progress', () => decodeContent(codec, progress)),
    ...read('result', () => decodeContent(codec, result)),
  };
}

function errorMessage(codec: JobCodec | undefined, stored: string): string {
  const text = decodeText(codec, stored);
  return text === stored ? text : (JSON.parse(text) as { message: string }).message;
}

function read(field: 'error' | 'progress' | 'result', decode: () => unknown): Partial<JobEvent> {
  try {
    const content = decode();
    return content === undefined ? {} : { [field]: content };
  } catch {
    return {};
  }
}
