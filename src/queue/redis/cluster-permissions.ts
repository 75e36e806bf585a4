import type { Cluster, Redis } from 'ioredis';
import { RedisPermissionError } from '../errors/redis-permission-error.js';
import { explainRefusal } from './permission-error.js';
import { isCluster, type RedisClient } from './redis-client.js';

/**
 * Tells of a right without which a client of a Cluster never becomes ready: ioredis asks for CLUSTER SLOTS and CLUSTER INFO,
 * keeps a refusal to itself, and begins anew for ever. Only where it gives up a whole attempt, since another node may
 * answer. Answers the way to end that.
 */
export function onPermissionError(client: RedisClient, tell: (error: RedisPermissionError) => void): () => void {
  if (!isCluster(client)) {
    return () => undefined;
  }
  let refusal: RedisPermissionError | undefined;
  const hear = (error: unknown) => {
    refusal = missingRight(error) ?? refusal;
  };
  const forget = () => {
    refusal = undefined;
  };
  // The answer to its own question it shows nobody. This one comes behind it, also where the connections are being ended.
  // By then a node has answered CLUSTER SLOTS: what another refused is not what it fails of.
  const ask = () => connected(client).forEach((node) => void node.cluster('INFO').then(forget, hear));
  const close = () => refusal && tell(refusal);
  client.on('node error', hear).on('connect', ask).on('close', close);
  return () => void client.off('node error', hear).off('connect', ask).off('close', close);
}

/**
 * Makes sure that the client may follow a slot which moves: where ioredis is refused the ASKING that it sends then, the
 * rejection is nobody's, and ends the process.
 *
 * @throws RedisPermissionError
 */
export async function requireAsking(client: RedisClient): Promise<void> {
  const node = isCluster(client) && connected(client).find(({ status }) => status === 'ready');
  if (!node) {
    return;
  }
  const asked = node.call('ASKING').catch((error: unknown) => {
    const missing = missingRight(error);
    if (missing) {
      throw missing;
    }
  });
  node.ping().catch(() => undefined); // ASKING marks the next command, which must be none that matters
  await asked;
}

function missingRight(error: unknown): RedisPermissionError | undefined {
  const explained = explainRefusal(error);
  return explained instanceof RedisPermissionError ? explained : undefined;
}

/** Others would be connected only to be asked. */
function connected(client: Cluster): Redis[] {
  return client.nodes('all').filter((node) => node.status !== 'wait');
}
