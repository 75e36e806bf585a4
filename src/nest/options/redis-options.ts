import { withoutPassword } from '../../queue/errors/show.js';
import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import { numberHint } from '../../queue/validation/numbers.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';

/** The value of `redis` that keeps the queues in the memory of the process. */
export const IN_MEMORY = 'memory';

/** Every option that ioredis knows. It ignores others without a word, and then connects to localhost. */
const KNOWN = `
  host port path family tls db username password name role protocol connectTimeout commandTimeout
  socketTimeout disconnectTimeout blockingTimeout blockingTimeoutGrace keepAlive noDelay connectionName
  disableClientInfo clientInfoTag retryStrategy reconnectOnError maxRetriesPerRequest maxLoadingRetryTime
  lazyConnect autoResubscribe autoResendUnfulfilledCommands enableOfflineQueue enableReadyCheck readOnly
  offlineQueue commandQueue enableAutoPipelining autoPipeliningIgnoredCommands monitor stringNumbers
  replyMapping showFriendlyErrorStack scripts himportFieldsets keyPrefix sentinels sentinelUsername
  sentinelPassword sentinelTLS sentinelRetryStrategy Connector sentinelReconnectStrategy
  sentinelCommandTimeout sentinelMaxConnections enableTLSForSentinelMode preferredSlaves updateSentinels
  failoverDetector natMap
`;

const redisSchema = z.strictObject(
  Object.fromEntries(
    KNOWN.trim()
      .split(/\s+/)
      .map((option) => [option, z.unknown().optional()]),
  ),
);

/**
 * Refuses options that ioredis would ignore, so that a misspelled option does not lead to localhost.
 *
 * @throws InvalidOptionError that names the option, and the probable intention
 */
export function checkRedisOptions(subject: string, options: RedisOptions): void {
  const address = ['url', 'uri', 'connectionString'].find((key) => key in options);
  if (address) {
    throw new InvalidOptionError(
      `${subject}.${address}`,
      'an option of ioredis',
      `"${address}", which ioredis ignores`,
      "Give the URL itself, redis: 'redis://host:6379', or host and port.",
    );
  }
  checkOptions(subject, redisSchema, options);
  if (typeof options.host === 'string' && /[/@]/.test(options.host)) {
    throw new InvalidOptionError(
      `${subject}.host`,
      'the name or address of a host',
      show(withoutPassword(options.host)),
      "Give a URL by itself, redis: 'redis://host:6379'.",
    );
  }
  checkPort(`${subject}.port`, options.port);
}

/** Refuses a port that ioredis reads as NaN. It takes a number in text, such as one of the environment. */
function checkPort(subject: string, port: unknown): void {
  const number = typeof port === 'string' ? Number.parseInt(port, 10) : (port ?? 0);
  if (!Number.isInteger(number)) {
    const expected = 'a number from 1 to 65535';
    throw new InvalidOptionError(subject, expected, show(port), numberHint(expected, port));
  }
}

/**
 * Refuses an invalid Redis URL. Ioredis would throw an error with the password, or take a part of the URL as the
 * database.
 *
 * @throws InvalidOptionError that shows it without its password
 */
export function checkRedisUrl(subject: string, url: string): void {
  if (!isRedisUrl(url)) {
    throw new InvalidOptionError(
      subject,
      'a URL such as redis://localhost:6379',
      show(withoutPassword(url)),
      /^rediss?:/.test(url) ? hintFor(url) : '',
    );
  }
}

/** Returns what to change in an invalid URL of Redis: its path, or else its password. */
function hintFor(url: string): string {
  return /^rediss?:\/\/[^/]*\/[^@]+$/.test(url)
    ? 'After the host comes the number of a database, as in redis://localhost:6379/0.'
    : 'Encode what is special in the password (encodeURIComponent).';
}

function isRedisUrl(url: string): boolean {
  if (/^\/(?!\/)/.test(url)) {
    return true; // the path of a socket
  }
  if (!/^(rediss?:)?\/\/./.test(url)) {
    return false;
  }
  try {
    const { username, password, pathname, hash } = new URL(url.startsWith('//') ? `redis:${url}` : url);
    decodeURIComponent(username + password);
    return /^\/?\d*\/?$/.test(pathname) && hash === '';
  } catch {
    return false;
  }
}
