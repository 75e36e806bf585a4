// A stream of the dashboard, read as a browser reads it.
import { expect } from '@jest/globals';
import type { StreamEvent } from '#dashboard/views/stream-views.js';

export interface OpenStream {
  /** The headers of the first response. */
  headers: Headers;
  /** Returns what has arrived so far. */
  text(): string;
  /** Returns the data of the last whole event. */
  last(): StreamEvent;
  /** Resolves once the server refuses to open it again, or is gone. */
  ended: Promise<void>;
  stop(): void;
}

/** Opens a stream, and again whenever the server ends it. */
export async function openStream(url: string): Promise<OpenStream> {
  const control = new AbortController();
  const open = () => fetch(`${url}/api/stream`, { signal: control.signal });
  const first = await open();
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  let text = '';
  const read = async () => {
    for (let response = first; response.status === 200; response = await open()) {
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
      }
    }
  };
  return {
    headers: first.headers,
    text: () => text,
    last: () => {
      const events = text.split('\n\n').filter((event) => event.includes('data: {'));
      return JSON.parse(events.at(-1)!.replace(/^[^]*?data: /, '')) as StreamEvent;
    },
    ended: read().catch(() => undefined), // it was stopped, or the server is gone
    stop: () => control.abort(),
  };
}
