import { remedyOfRefusal } from '../../queue/errors/redis-errors.js';

/** What to do about the last error of a connection; the first that fits. */
const REMEDIES: readonly [RegExp, remedy: string][] = [
  [/NOAUTH|WRONGPASS|NOPERM/, 'Set the right user and password in `redis` or REDIS_URL.'],
  // An alert comes from the server, so it is hardly about the server's certificate.
  [
    /alert.*(certificate|unknown ca|handshake failure)/,
    'If Redis asks for a certificate of this client, set `tls: { cert, key }` in `redis`.',
  ],
  [/certificate (has expired|is not yet valid)/, 'Give Redis a certificate that is valid now.'],
  [/altnames/, 'Connect by a name that the certificate of Redis has.'],
  [/certificate/, 'NODE_EXTRA_CA_CERTS=<file> adds the authority of the certificate.'],
  [/RESP type|reply type byte/, 'Look whether the port is that of Redis, not of another server.'],
];

/** The errors of a connection whose other end speaks TLS, and this one does not, or the other way round. */
const OF_TLS = /ECONNRESET|EPIPE|EPROTO|SSL|closed/;

/**
 * Returns what to do about a connection that cannot be used.
 *
 * @param trouble its last error
 * @param isTls whether this process speaks TLS; undefined if that is not known
 */
export function remedyOf(trouble: string, isTls: boolean | undefined): string {
  const remedy = knownRemedy(trouble);
  if (remedy !== undefined) {
    return remedy;
  }
  if (isTls && (OF_TLS.test(trouble) || trouble === 'no answer')) {
    return 'If this port does not speak TLS, its address begins with redis://.';
  }
  return isTls === false && OF_TLS.test(trouble)
    ? 'If this port speaks only TLS, its address begins with rediss://.'
    : 'Start Redis, or set `redis` or REDIS_URL to where it is.';
}

/** Returns the end of a sentence about a failure: its cause, and what to do. */
export function causeInWords(failure: Error | undefined): string {
  if (!failure) {
    return '.';
  }
  const remedy = knownRemedy(failure.message) ?? '';
  // A typed error names its remedy itself.
  return `: ${failure.message.replace(/\.$/, '')}. ${failure.message.includes(remedy) ? '' : remedy}`.trimEnd();
}

function knownRemedy(trouble: string): string | undefined {
  return REMEDIES.find(([pattern]) => pattern.test(trouble))?.[1] ?? remedyOfRefusal(trouble);
}
