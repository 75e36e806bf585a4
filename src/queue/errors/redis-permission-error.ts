import { RedisUnsuitableError } from './errors.js';

/** The Redis user of the connection lacks permissions that a queue needs. Every call fails until they are granted. */
export class RedisPermissionError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_PERMISSION';

  constructor(
    /** The refused permissions, in words, such as `the command hset`. */
    readonly missing: readonly string[],
    options?: ErrorOptions,
  ) {
    super(
      `The Redis user of this connection lacks permissions: expected all that a queue needs, found refused: ` +
        `${missing.join(', ')}. Grant them with ACL SETUSER; docs/reliability.md has the whole list.`,
      options,
    );
  }
}
