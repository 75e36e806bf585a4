/** What to do about the last error of a connection; the first that fits. */
const REMEDIES: readonly [RegExp, remedy: string][] = [
  [/NOAUTH|WRONGPASS|NOPERM/, 'Set the right user and password in `redis` or REDIS_URL.'],
  [
    /CERT|SIGNATURE|ALTNAME|certificate/i,
    'NODE_EXTRA_CA_CERTS=<file> adds an authority. The address must have a name of the certificate.',
  ],
  [/READONLY/, 'Connect to the master, or by Sentinel.'],
  [/CLUSTERDOWN/, 'Look at CLUSTER INFO: slots of this Redis Cluster have no master.'],
  [/RESP type/, 'Look whether the port is that of Redis, not of another server.'],
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
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(trouble)) ?? [];
  if (remedy !== undefined) {
    return remedy;
  }
  if (isTls && (OF_TLS.test(trouble) || trouble === 'no answer')) {
    return 'Look whether this port speaks TLS; the address of one that does not begins with redis://.';
  }
  return isTls === false && OF_TLS.test(trouble)
    ? 'If it speaks TLS only, its address begins with rediss://.'
    : 'Start Redis, or set `redis` or REDIS_URL to where it is.';
}

/** Returns the end of the sentence that a worker did not start: why, and what to do. */
export function whyNotStarted(failure: Error | undefined): string {
  if (!failure) {
    return '.';
  }
  const [, remedy = ''] = REMEDIES.find(([pattern]) => pattern.test(failure.message)) ?? [];
  return `: ${failure.message.replace(/\.$/, '')}. ${remedy}`.trimEnd();
}
