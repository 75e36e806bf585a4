import { decodeContent, decodeText, type ContentContext, type JobCodec } from '../codec/codec.js';
import type { JobEvent } from '../model/job-event.js';

/** Decodes the content of an event with the queue's codec. Unreadable content is left out. */
export function decodeEvent(codec: JobCodec | undefined, queue: string, event: JobEvent): JobEvent {
  const { error, progress, result, ...rest } = event;
  const owner = { queue, id: event.id };
  return {
    ...rest,
    ...read('error', () => error && errorMessage(codec, error, { ...owner, field: 'error' })),
    ...read('progress', () => decodeContent(codec, progress, 'progress', owner)),
    ...read('result', () => decodeContent(codec, result, 'result', owner)),
  };
}

function errorMessage(codec: JobCodec | undefined, stored: string, context: ContentContext): string {
  const text = decodeText(codec, stored, context);
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
