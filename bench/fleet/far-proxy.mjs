// A process between the contestants and the server with TLS. It holds each chunk for a quarter of a millisecond, as a network does. It sees
// only what is encrypted. Argument: the port of the server.
import { createConnection, createServer } from 'node:net';

const ONE_WAY_MS = 0.25;
/** The length of a sleep while chunks wait. Timers of Node are no shorter than a millisecond. */
const SLICE_MS = 0.02;

const port = Number(process.argv[2]);
const sleeper = new Int32Array(new SharedArrayBuffer(4));
/** What is on its way, the oldest first. */
let onTheWay = [];

function carry(from, to) {
  from.setNoDelay(true);
  from.on('data', (chunk) => {
    onTheWay.push({ at: performance.now() + ONE_WAY_MS, to, chunk });
    if (onTheWay.length === 1) setImmediate(deliver);
  });
  from.on('close', () => to.destroy());
  from.on('error', () => to.destroy());
}

function deliver() {
  const now = performance.now();
  const due = onTheWay.findIndex(({ at }) => at > now);
  const arrived = due < 0 ? onTheWay : onTheWay.slice(0, due);
  onTheWay = due < 0 ? [] : onTheWay.slice(due);
  for (const { to, chunk } of arrived) to.write(chunk);
  if (onTheWay.length === 0) return;
  Atomics.wait(sleeper, 0, 0, SLICE_MS);
  setImmediate(deliver);
}

const listener = createServer((client) => {
  const server = createConnection({ host: '127.0.0.1', port });
  carry(client, server);
  carry(server, client);
});
listener.listen(0, '127.0.0.1', () => process.send({ port: listener.address().port }));
process.on('disconnect', () => process.exit(0));
