// What an app says to do about a Redis that it cannot use.
import { expect, it } from '@jest/globals';
import { remedyOf, causeInWords } from '#nest/connection/server-connection.js';

it.each([
  ['WRONGPASS invalid username-password pair or user is disabled', 'Set the right user and password'],
  ['self-signed certificate in certificate chain', 'NODE_EXTRA_CA_CERTS=<file> adds the authority'],
  ['unable to verify the first certificate', 'NODE_EXTRA_CA_CERTS=<file> adds the authority'],
  ['certificate has expired', 'Give Redis a certificate that is valid now.'],
  ["Hostname/IP does not match certificate's altnames: Host: a. is not in the cert", 'Connect by a name'],
  [
    'SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:SSL alert number 116',
    'set `tls: { cert, key }`',
  ],
  ['SSL routines:ssl3_read_bytes:sslv3 alert handshake failure', 'set `tls: { cert, key }`'], // the same by TLS 1.2
  ['SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca', 'set `tls: { cert, key }`'],
  ["READONLY You can't write against a read only replica.", 'Connect to the master, or by Sentinel.'],
  ['CLUSTERDOWN The cluster is down', 'CLUSTER INFO shows'],
  ['NOREPLICAS Not enough good replicas to write.', 'min-replicas-to-write'],
  ['write EPROTO', 'If this port does not speak TLS, its address begins with redis://.'],
  ['no answer', 'If this port does not speak TLS, its address begins with redis://.'],
  // The name of a host says nothing about certificates.
  ['getaddrinfo ENOTFOUND cert.signature.example', 'Start Redis, or set `redis`'],
])('a connection by TLS with the trouble %j', (trouble, remedy) => {
  expect(remedyOf(trouble, true)).toContain(remedy);
});

it.each([
  ['read ECONNRESET', 'If this port speaks only TLS, its address begins with rediss://.'],
  ['no answer', 'Start Redis, or set `redis`'],
])('a connection without TLS with the trouble %j', (trouble, remedy) => {
  expect(remedyOf(trouble, false)).toContain(remedy);
});

it.each([
  [undefined, '.'],
  [
    new Error('MISCONF Errors writing to disk.'),
    ': MISCONF Errors writing to disk. Look at the log and the disk of Redis.',
  ],
  [new Error('it broke'), ': it broke.'],
])('the start of a worker that fails with %s', (failure, words) => {
  expect(causeInWords(failure)).toBe(words);
});
