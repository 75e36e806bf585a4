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

const anything = z.unknown().optional();
const redisSchema = z.strictObject(
  Object.fromEntries(
    KNOWN.trim()
      .split(/\s+/)
      .map((option) => [option, anything]),
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
  checkNumber(`${subject}.port`, options.port, PORT);
  checkNumber(`${subject}.db`, options.db, DATABASE);
  options.sentinels?.forEach(({ port }, i) => checkNumber(`${subject}.sentinels[${i}].port`, port, PORT));
}

const HIGHEST_PORT = 65_535;
const PORT = [1, HIGHEST_PORT] as const;
const DATABASE = [0, 2 ** 31 - 1] as const;

/** Refuses a number that no server has, and one that ioredis reads as NaN. It takes text, such as of the environment. */
function checkNumber(subject: string, value: unknown, [min, max]: readonly [min: number, max: number]): void {
  if (value === undefined || value === null) {
    return;
  }
  const number = typeof value === 'string' ? Number.parseInt(value, 10) : (value as number);
  if (!Number.isInteger(number) || number < min || number > max) {
    const expected = `a number from ${min} to ${max}`;
    throw new InvalidOptionError(subject, expected, show(value), numberHint(expected, value));
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
      /^(redis|valkey)s?:/.test(url) ? hintFor(url) : '',
    );
  }
}

/** Returns what to change in an invalid URL of Redis: its port or path, or else its password. */
function hintFor(url: string): string {
  if (url.startsWith('valkey')) {
    return 'Valkey speaks the same protocol: write redis:// for valkey://, and rediss:// for valkeys://.';
  }
  const place = url.slice(url.lastIndexOf('@') + 1).replace(/^rediss?:\/\//, '');
  const [, port] = /^[^:/]+:([^:/?]*)/.exec(place) ?? [];
  if (port !== undefined && !(Number(port) <= HIGHEST_PORT)) {
    return 'After the host comes the number of a port, as in redis://localhost:6379.';
  }
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
