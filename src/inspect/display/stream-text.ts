import type { StreamItem } from '../../queue/model/job-stream.js';

/**
 * Returns an item of a stream as text. A chunk that is no text is a line of JSON.
 *
 * @param shown returns a chunk as a window may show it
 */
export function streamText({ type, data }: StreamItem, shown: (chunk: unknown) => unknown): string {
  switch (type) {
    case 'attempt':
      return `\n— attempt ${data.attempt}${data.restart ? ', which starts anew' : ''} —\n`;
    case 'truncated':
      return `\n— ${data.missing} ${data.missing === 1 ? 'entry is' : 'entries are'} gone —\n`;
    default: {
      const chunk = shown(data instanceof Uint8Array ? `[${data.length} bytes]` : data);
      return typeof chunk === 'string' ? chunk : `${JSON.stringify(chunk) ?? 'null'}\n`;
    }
  }
}
