import type { Cluster, Redis } from 'ioredis';
import { RedisPermissionError } from '../../errors/redis-errors.js';
import { backgroundTimeout } from '../../runtime/clock.js';
import { explainRefusal } from '../connection-errors.js';
import { isCluster, type RedisClient } from '../redis-client.js';

/**
 * Reports a missing permission that keeps a Cluster client from becoming ready. The client sends CLUSTER SLOTS and
 * CLUSTER INFO, hides a refusal, and reconnects forever. Reports it only when a whole attempt fails, because another
 * node may reply. Returns a function that unsubscribes.
 */
export function onPermissionError(
  client: RedisClient,
  onDenied: (error: RedisPermissionError) => void,
): () => void {
  if (!isCluster(client)) {
    return () => undefined;
  }
  let refusal: RedisPermissionError | undefined;
  const onNodeError = (error: unknown) => {
    refusal = missingRight(error) ?? refusal;
  };
  const forget = () => {
    refusal = undefined;
  };
  // ioredis does not expose the reply to its own CLUSTER INFO. This question is sent behind it. By then a node has answered
  // CLUSTER SLOTS, so a refusal of another node was not the cause.
  const ask = () => connected(client).forEach((node) => void node.cluster('INFO').then(forget, onNodeError));
  const close = () => refusal && onDenied(refusal);
  client.on('node error', onNodeError).on('connect', ask).on('close', close);
  return () => void client.off('node error', onNodeError).off('connect', ask).off('close', close);
}

/**
 * Checks that the client may send ASKING, which a moving slot needs. If Redis refuses ioredis's own ASKING, the rejection
 * is unhandled and ends the process.
 *
 * @throws RedisPermissionError
 */
export async function requireAsking(client: RedisClient): Promise<void> {
  const nodes = isCluster(client) ? connected(client).filter(({ status }) => status === 'ready') : [];
  const [node, ...others] = nodes;
  if (node) {
    await orAnother(mayAsk(node), () => others.map(mayAsk));
  }
}

async function mayAsk(node: Redis): Promise<void> {
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

/** Returns the connected nodes. The others would be connected only for this question. */
function connected(client: Cluster): Redis[] {
  return client.nodes('all').filter((node) => node.status !== 'wait');
}

/** How long one node of a Cluster may keep silent before others are asked, in ms. */
const SILENT_MS = 250;

/**
 * Asks a node of the client's choice, and all masters if it keeps silent. So a stopped master holds up nobody. Returns the first reply.
 *
 * @throws the error of the first node
 */
export function firstReply<Reply>(client: RedisClient, ask: (node: RedisClient) => Promise<Reply>): Promise<Reply> {
  const first = ask(client);
  return isCluster(client) ? orAnother(first, () => client.nodes('master').map(ask)) : first;
}

/** Returns the first reply: that of one node, or of others that are asked if it keeps silent. */
async function orAnother<Reply>(first: Promise<Reply>, others: () => Promise<Reply>[]): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const another = new Promise<Reply>((resolve) => {
    const askOthers = () => void Promise.any(others()).then(resolve, () => undefined);
    timer = backgroundTimeout(askOthers, SILENT_MS);
  });
  try {
    return await Promise.race([first, another]);
  } finally {
    clearTimeout(timer);
  }
}
