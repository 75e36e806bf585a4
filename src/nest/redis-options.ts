import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import { checkOptions } from '../queue/check-options.js';
import { InvalidOptionError } from '../queue/errors.js';

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
 * Refuses options that ioredis would ignore, so that an app does not talk to localhost by a slip of the pen.
 *
 * @throws InvalidOptionError that names the option, and what was probably meant
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
}
