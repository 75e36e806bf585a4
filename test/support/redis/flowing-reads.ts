import type { Redis } from 'ioredis';

/** Returns whether a reply reaches its reader when Node hands it to the stream, not at the tick's end. */
export async function readsAtOnce(client: Redis): Promise<boolean> {
  const { stream } = client;
  const push = stream.push.bind(stream);
  let isPushed = false;
  let atOnce = false;
  stream.push = (chunk, encoding) => {
    isPushed = true;
    const goesOn = push(chunk, encoding);
    isPushed = false;
    return goesOn;
  };
  stream.prependListener('data', () => (atOnce = isPushed)); // put so, a listener changes nothing
  await client.ping();
  return atOnce;
}
