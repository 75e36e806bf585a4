// A stream of the dashboard, read as a browser reads it.
import { expect } from '@jest/globals';
import type { StreamEvent } from '#dashboard/views/views.js';

export interface OpenStream {
  headers: Headers;
  /** Returns what has arrived so far. */
  text(): string;
  /** Returns the data of the last whole event. */
  last(): StreamEvent;
  /** Resolves once the server has ended it. */
  ended: Promise<void>;
  stop(): void;
}

export async function openStream(url: string): Promise<OpenStream> {
  const control = new AbortController();
  const response = await fetch(`${url}/api/stream`, { signal: control.signal });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  let text = '';
  const read = async () => {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
    }
  };
  const ended = read();
  ended.catch(() => undefined); // it was stopped
  return {
    headers: response.headers,
    text: () => text,
    last: () => {
      const events = text.split('\n\n').filter((event) => event.includes('data: {'));
      return JSON.parse(events.at(-1)!.replace(/^[^]*?data: /, '')) as StreamEvent;
    },
    ended,
    stop: () => control.abort(),
  };
}
