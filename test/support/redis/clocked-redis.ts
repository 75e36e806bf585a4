// A connection whose scripts read a clock of the test in the place of the server's: the only way to a day that is not today.
import type { Redis } from 'ioredis';
import { connect } from './redis.js';

const TIME = "redis.call('TIME')";

/** What the server's clock shows to the scripts, in epoch ms; a fraction gives the microseconds below a millisecond. */
export interface ServerClock {
  nowMs: number;
}

/** A client that sends each script as text, the rest of it as it is. */
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
