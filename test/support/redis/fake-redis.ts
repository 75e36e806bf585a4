// A fake server, for replies that a real Redis would not give.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll } from '@jest/globals';

const open = new Set<() => Promise<void>>();

afterAll(async () => {
  await Promise.all([...open].map((close) => close()));
  open.clear();
});

/** Replies to each raw command with the result of `answer`, once it resolves. null: never. */
export async function startFakeRedis(
  answer: (command: string) => string | null | Promise<string>,
): Promise<{ url: string }> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => undefined);
    client.on('data', (chunk) => {
      for (const command of String(chunk)
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        void Promise.resolve(answer(command)).then((reply) => reply !== null && client.write(reply));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.add(async () => {
    clients.forEach((client) => client.destroy());
    server.close();
    await once(server, 'close');
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
