// A connection whose scripts read a clock of the test in the place of the server's: the only way to a day that is not today.
import type { Redis } from 'ioredis';
import { connect } from './redis.js';

const TIME = "redis.call('TIME')";

/** What the server's clock shows to the scripts, in epoch ms. */
export interface ServerClock {
  nowMs: number;
}

/** A client that sends each script as text, the rest of it as it is. */
export function connectClocked(clock: ServerClock): Redis {
  const client = connect();
  const send = client.eval.bind(client) as (text: string, ...rest: unknown[]) => Promise<unknown>;
  const evaluate = (text: string, ...rest: unknown[]) => {
    const { nowMs } = clock;
    return send(text.replace(TIME, `{ ${Math.floor(nowMs / 1_000)}, ${(nowMs % 1_000) * 1_000} }`), ...rest);
  };
  return Object.assign(client, { eval: evaluate, evalsha: refuse });
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('NOSCRIPT the text is needed, to set its clock'));
}
