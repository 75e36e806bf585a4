// A connection whose scripts read the test's clock instead of the server's: the only way to another day.
import type { Redis } from 'ioredis';
import { connect } from './redis.js';

const TIME = "redis.call('TIME')";

/** The scripts' time, in epoch ms. A fraction holds the microseconds. */
interface ServerClock {
  nowMs: number;
}

/** Returns a client that sends each script as text, otherwise unchanged. */
export function connectClocked(clock: ServerClock): Redis {
  const client = connect();
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command) => {
    if (command.name === 'evalsha') {
      command.reject(new Error('NOSCRIPT the text is needed, to set its clock'));
      return command.promise;
    }
    if (command.name === 'eval') {
      const { nowMs } = clock;
      const time = `{ '${Math.floor(nowMs / 1_000)}', '${Math.floor((nowMs % 1_000) * 1_000)}' }`;
      command.args[0] = String(command.args[0]).replace(TIME, time);
    }
    return send(command);
  };
  return client;
}
