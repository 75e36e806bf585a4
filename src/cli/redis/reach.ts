// Connects a command to Redis. Refuses a server that has only a part of its queues, or those of another database.
import type { Redis } from 'ioredis';
import { isCluster, type RedisClient } from '../../queue/redis/redis-client.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import { duration } from '../../inspect/words.js';
import type { ClientOfCommand } from './address.js';
import { CliError, EXIT } from '../exit-codes.js';

/** The time Redis may take to connect, and to reply, in ms. */
export const REPLY_MS = 5_000;

/**
 * Connects the client. Returns how far the server's clock is ahead of this machine's, in ms.
 *
 * @throws CliError where Redis cannot be reached, or is not the server that the options say
 */
export async function reach({ client, place, isTls }: ClientOfCommand): Promise<number> {
  let reason: Error | undefined;
  client.on('error', (error: Error) => (reason = error));
  try {
    const ready = client.connect().then(() => greet(client));
    const { mode, skewMs } = await within(systemClock, REPLY_MS, ready, () => {
      throw new Error(`no answer within ${duration(REPLY_MS)}`);
    });
    refuseMode(mode, place);
    await selectAgain(client, place);
    return skewMs;
  } catch (error) {
    const { status } = client;
    client.disconnect();
    throw error instanceof CliError
      ? error
      : unreachable(place, reason ?? (error as Error), { isTls, isSilent: status === 'connect', status });
  }
}

interface Greeting {
  /** Undefined if the user may not ask, or for a Cluster. */
  mode?: string | undefined;
  skewMs: number;
}

/** Asks the server, or the masters of a Cluster, of which others than the first may be away. @throws the error of a server */
async function greet(client: RedisClient): Promise<Greeting> {
  if (!isCluster(client)) {
    return greetServer(client);
  }
  try {
    const { skewMs } = await Promise.any(client.nodes('master').map(greetServer));
    return { skewMs };
  } catch (error) {
    throw (error as AggregateError).errors[0] ?? error;
  }
}

async function greetServer(server: Redis): Promise<Greeting> {
  const [time, info] = await Promise.all([
    server.time().catch(() => undefined),
    server.info('server').catch(() => ''),
    server.ping(),
  ]);
  const [, mode] = /^redis_mode:(\w+)/m.exec(info) ?? [];
  return { mode, skewMs: time ? Number(time[0]) * 1_000 + Number(time[1]) / 1_000 - Date.now() : 0 };
}

/**
 * Refuses a Sentinel, and a node of a Cluster, which has only a part of the queues. A probe of them must not be green.
 */
function refuseMode(mode: string | undefined, place: string): void {
  if (mode === 'cluster') {
    throw new CliError(
      `Redis at ${place} is a node of a Cluster and has a part of the queues. Pass --cluster.`,
      EXIT.usage,
    );
  }
  if (mode === 'sentinel') {
    throw new CliError(`At ${place} is a Sentinel, not Redis. Pass --sentinel <master>.`, EXIT.usage);
  }
}

/** Repeats the SELECT of ioredis, which stays in database 0 if Redis refuses it. */
async function selectAgain(client: RedisClient, place: string): Promise<void> {
  const db = isCluster(client) ? 0 : (client.options.db ?? 0);
  if (db > 0 && !isCluster(client)) {
    await client.select(db).catch((error: Error) => {
      const hint = 'Look for a wrong number at the end of the address, or grant the permission `select`.';
      throw new CliError(
        `Database ${db} of Redis at ${place} cannot be used (${error.message}). ${hint}`,
        EXIT.unreachable,
      );
    });
  }
}

interface Circumstances {
  isTls: boolean;
  /** True if the server took the connection and then gave no reply. */
  isSilent: boolean;
  status: string;
}

const DEFAULT_HINT = 'Start Redis, or set REDIS_URL or --redis to where it is.';

/** Hints for a reason; the first that fits. */
const HINTS: readonly [RegExp, hint: string][] = [
  [/^(WRONGPASS|NOAUTH|NOPERM)\b/, 'Put its user and password into REDIS_URL.'],
  [
    /CERT|SIGNATURE|ALTNAME|certificate/i,
    'NODE_EXTRA_CA_CERTS=<file> adds an authority. The address must have a name of the certificate.',
  ],
  [/cluster support disabled/, 'It is no Cluster: leave out --cluster.'],
  [/unknown command .sentinel/i, 'No Sentinel is there: leave out --sentinel, or correct the port.'],
  [/No such master/, 'The name after --sentinel is not one that the Sentinels know.'],
];

function unreachable(place: string, error: Error, circumstances: Circumstances): CliError {
  const why = reasonOf(error);
  return new CliError(
    `Redis at ${place} cannot be reached (${why}). ${hintFor(why, circumstances)}`,
    EXIT.unreachable,
  );
}

/** An error of ioredis; that of a Cluster has the last node's. */
type ConnectionError = Error & { code?: string; lastNodeError?: ConnectionError };

/** Returns the reason of one server, where the error is about all of them. */
function reasonOf(error: ConnectionError): string {
  const { message, code } = error.lastNodeError ?? error;
  const [, last] = /Last error: (.*)$/s.exec(message) ?? [];
  return last?.trim() ?? code ?? message;
}

function hintFor(why: string, { isTls, isSilent, status }: Circumstances): string {
  const [, hint] = HINTS.find(([pattern]) => pattern.test(why)) ?? [];
  if (hint !== undefined) {
    return hint;
  }
  if (isTls && (status === 'connecting' || /EPROTO|ECONNRESET|SSL/.test(why))) {
    return 'Look whether this port speaks TLS; redis:// is the address of one that does not.';
  }
  if (!isTls && /ECONNRESET|closed/.test(why)) {
    return 'If it speaks TLS only, its address is rediss://.';
  }
  return isSilent
    ? 'It takes connections and is silent: frozen, or busy with a long command. Look at its process and its log.'
    : DEFAULT_HINT;
}
