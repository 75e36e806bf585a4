// `--far`: the server is half a millisecond away, and speaks TLS, for all contestants.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/redis/redis-server.mjs';
import { median } from '../report/stats.mjs';
import { Server } from './server.mjs';

/** The measures where a trip matters, and those whose cost encryption changes. */
export const FAR_MEASURES = [
  'process.c1',
  'process.c1.strict',
  'process.c10',
  'process.c100',
  'process.c10.5ms',
  'enqueue.parallel100',
  'enqueue.sequential',
  'latency.idle',
];

/**
 * Starts a server with TLS behind a line of half a millisecond. Child processes that begin later trust its certificate.
 *
 * @returns the server with the URL of the line, the time of a trip, and a function that ends both
 */
export async function startFar() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-far-'));
  const [cert, key, port] = [join(folder, 'server.pem'), join(folder, 'server.key'), await freePort()];
  const names = ['-subj', '/CN=redis', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...curve, '-days', '2', ...names, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  const tls = ['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key];
  const server = await Server.start([...tls, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no']);
  const proxy = fork(fileURLToPath(new URL('far-proxy.mjs', import.meta.url)), [String(port)]);
  const [{ port: near }] = await once(proxy, 'message');
  process.env.NODE_EXTRA_CA_CERTS = cert;
  server.url = `rediss://localhost:${near}`;
  const stop = () => {
    proxy.disconnect();
    rmSync(folder, { recursive: true, force: true });
  };
  return { server, tripMs: await tripOf(near), stop };
}

async function tripOf(port) {
  const client = new Redis({ host: '127.0.0.1', port, tls: { rejectUnauthorized: false } });
  const trips = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    await client.ping();
    trips.push(performance.now() - began);
  }
  client.disconnect();
  return median(trips.slice(100));
}
