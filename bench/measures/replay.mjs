// Records what a client sends to Redis, and replays it without the client as fast as the server can reply. The
// difference is the cost of the client and of waiting.
import { connect, createServer } from 'node:net';
import { once } from 'node:events';

/** Starts a proxy in front of the server that keeps the bytes of every connection, client to server. */
export async function recordingProxy(serverUrl) {
  const { port } = new URL(serverUrl);
  const recordings = [];
  const proxy = createServer((client) => {
    const chunks = [];
    recordings.push(chunks);
    const upstream = connect(Number(port), '127.0.0.1');
    for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', () => {});
    client.on('data', (chunk) => chunks.push(chunk));
    client.pipe(upstream).pipe(client);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `redis://127.0.0.1:${proxy.address().port}`,
    /**
     * Returns the recording of the connection that sent most, since the last call; connections opened before are
     * forgotten.
     */
    take() {
      const longest = recordings.map((chunks) => Buffer.concat(chunks)).sort((a, b) => b.length - a.length)[0];
      recordings.length = 0;
      return longest ?? Buffer.alloc(0);
    },
    close: () => proxy.close(),
  };
}

/** Sends the bytes over one connection without waiting for replies. Returns the microseconds until all replies came. */
export async function replay(serverUrl, recording) {
  const { port } = new URL(serverUrl);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  const marker = `end-of-replay-${Date.now()}`;
  const started = process.hrtime.bigint();
  const answered = new Promise((resolve, reject) => {
    let tail = '';
    // A recording may end with QUIT.
    socket.on('close', resolve);
    socket.setEncoding('latin1');
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      tail = (tail + chunk).slice(-1_024);
      if (tail.includes(marker)) resolve();
    });
  });
  socket.write(recording);
  socket.write(`*2\r\n$4\r\nECHO\r\n$${marker.length}\r\n${marker}\r\n`);
  await answered;
  const us = Number(process.hrtime.bigint() - started) / 1_000;
  socket.destroy();
  return us;
}
