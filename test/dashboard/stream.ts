// A stream of the dashboard, read as a browser reads it.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { constants, createGunzip } from 'node:zlib';
import { expect } from '@jest/globals';
import {
  changed,
  keyed,
  listed,
  type KeyedOverview,
  type StreamEvent,
  type StreamMessage,
} from '#dashboard/views/overview-changes.js';

export interface OpenStream {
  /** The headers of the first response. */
  headers: Headers;
  /** Returns what has arrived so far. */
  text(): string;
  /** Returns the messages so far. */
  messages(): StreamMessage[];
  /** Returns the state after the last message. */
  last(): StreamEvent;
  /** Returns the bytes of the responses so far, with their headers. */
  bytes(): number;
  /** Resolves once the server refuses to open it again, or is gone. */
  ended: Promise<void>;
  stop(): void;
}

/** Opens a stream, and again whenever the server ends it. */
export async function openStream(url: string, asked: Record<string, string> = {}): Promise<OpenStream> {
  const control = new AbortController();
  let text = '';
  const sockets: Socket[] = [];
  const open = async (): Promise<IncomingMessage> => {
    const lastId = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
    const headers = { ...asked, ...(lastId && { 'last-event-id': lastId }) };
    // A connection of its own, because a shared one outlives an abort.
    const request = get(`${url}/api/stream`, { headers, agent: false, signal: control.signal });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    sockets.push(response.socket);
    return response;
  };
  const first = await open();
  const type = first.headers['content-type'];
  expect([first.statusCode, type]).toEqual([200, expect.stringContaining('text/event-stream')]);
  const read = async () => {
    for (let response = first; response.statusCode === 200; response = await open()) {
      const isZipped = response.headers['content-encoding'] === 'gzip';
      const body = isZipped ? response.pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH })) : response;
      for await (const part of body.setEncoding('utf8')) {
        text += part;
      }
    }
  };
  const messages = () =>
    [...text.matchAll(/^data: (\{.*)\n\n/gm)].map(([, data]) => JSON.parse(data!) as StreamMessage);
  return {
    headers: new Headers(first.headers as Record<string, string>),
    text: () => text,
    messages,
    last: () => stateAfter(messages()),
    bytes: () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    ended: read().catch(() => undefined), // it was stopped, or the server is gone
    stop: () => control.abort(),
  };
}

/** Returns the state that a page shows after these messages. */
function stateAfter(messages: readonly StreamMessage[]): StreamEvent {
  let overview: KeyedOverview | undefined;
  for (const message of messages) {
    if ('overview' in message) {
      overview = keyed(message.overview);
    } else if ('change' in message) {
      overview = changed(overview, message.change) as KeyedOverview;
    }
  }
  const end = messages.at(-1);
  if (end && 'away' in end) {
    return { overview: null, away: end.away };
  }
  return { overview: listed(overview!), away: null };
}
