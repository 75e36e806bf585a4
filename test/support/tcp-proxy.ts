// A TCP connection that can fail in the ways that real ones do: replies lost, cut, silent.
import { once } from 'node:events';
import { createServer, connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { afterAll } from '@jest/globals';

const open = new Set<() => Promise<void>>();

afterAll(async () => {
  await Promise.all([...open].map((close) => close()));
  open.clear();
});

export interface TcpServer {
  readonly url: string;
  /** Cuts all connections; new ones are taken. */
  cut(): void;
}

export interface Proxy extends TcpServer {
  /** From now on replies are swallowed; resolves when the server has answered a first one. */
  loseReplies(): Promise<void>;
  /** Replies of new connections come through again. */
  heal(): void;
}

/** Stands between a client and a real Redis. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  let losing = false;
  let lost: (() => void) | undefined;
  const server = await listen((client, track) => {
    const upstream = track(connectTcp(Number(port), hostname));
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      if (losing) {
        lost?.();
      } else {
        client.write(chunk);
      }
    });
    upstream.once('close', () => client.destroy());
    client.once('close', () => upstream.destroy());
  });
  return {
    ...server,
    loseReplies() {
      losing = true;
      return new Promise((resolve) => {
        lost = resolve;
      });
    },
    heal() {
      losing = false;
    },
  };
}

/** A server of our own that answers each command, given as it came, by `answer`; null: never. */
export function startFakeRedis(answer: (command: string) => string | null): Promise<TcpServer> {
  return listen((client) => {
    client.on('data', (chunk) => {
      for (const command of String(chunk)
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        const reply = answer(command);
        if (reply !== null) client.write(reply);
      }
    });
  });
}

async function listen(serve: (client: Socket, track: (socket: Socket) => Socket) => void): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined); // cut on purpose
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => serve(track(client), track));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => sockets.forEach((socket) => socket.destroy());
  open.add(async () => {
    cut();
    server.close();
    await once(server, 'close');
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}
