// A certificate for a server with TLS, made when a test needs it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

const folders = new Set<string>();

afterAll(() => {
  folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }));
  folders.clear();
});

/** Paths of PEM files, and the certificate's text: it signs itself, so a client that trusts it knows the server. */
export interface Certificates {
  files: { ca: string; cert: string; key: string };
  ca: string;
}

/**
 * Makes a certificate for 127.0.0.1 and localhost, which no client trusts by default.
 *
 * @param names its subject names, in openssl's form
 */
export function makeCertificates(names = 'IP:127.0.0.1,DNS:localhost'): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'redis-tls-'));
  folders.add(folder);
  const [cert, key] = [join(folder, 'server.pem'), join(folder, 'server.key')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const name = ['-subj', '/CN=redis', '-addext', `subjectAltName=${names}`];
  openssl(['req', '-x509', ...curve, '-days', '2', ...name, '-keyout', key, '-out', cert]);
  return { files: { ca: cert, cert, key }, ca: readFileSync(cert, 'utf8') };
}

function openssl(args: string[]): void {
  try {
    execFileSync('openssl', args, { stdio: 'pipe' });
  } catch (error) {
    throw new Error(`The tests make certificates with openssl, which failed: ${String(error)}`, { cause: error });
  }
}
