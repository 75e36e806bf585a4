// An HTTP server that holds requests until the test releases them, so that a job surely runs.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll } from '@jest/globals';

interface Delivery {
  headers: IncomingHttpHeaders;
  body: string;
  answer(status: number): void;
  /** Resolves when the caller hung up before the answer. */
  aborted: Promise<void>;
}

const servers = new Set<Server>();

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

export async function startReceiver() {
  const arrived: Delivery[] = [];
  const waiting: ((delivery: Delivery) => void)[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const delivery = { headers: request.headers, body: await text(request), ...answering(response) };
    const deliver = waiting.shift();
    if (deliver) deliver(delivery);
    else arrived.push(delivery);
  };
  const server = createServer((request, response) => void receive(request, response));
  servers.add(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The next delivery, in the order of arrival. */
    next: (): Promise<Delivery> => {
      const first = arrived.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

function answering(response: ServerResponse): Pick<Delivery, 'answer' | 'aborted'> {
  return {
    answer: (status) => response.writeHead(status).end(),
    aborted: new Promise((resolve) => {
      response.once('close', () => {
        if (!response.writableFinished) resolve();
      });
    }),
  };
}
