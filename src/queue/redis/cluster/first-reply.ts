import { backgroundTimeout } from '../../runtime/clock.js';
import { isCluster, type RedisClient } from '../redis-client.js';

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
export async function orAnother<Reply>(first: Promise<Reply>, others: () => Promise<Reply>[]): Promise<Reply> {
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
