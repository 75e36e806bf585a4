// A connection whose scripts read the test's clock instead of the server's: the only way to another day.
import type { Redis } from 'ioredis';
import { connect } from './redis.js';

/** The call of a script, and that of the frame of the audit trail. */
const TIME = /\b(redis|server)\.call\('TIME'\)/g;

/** The scripts' time, in epoch ms. A fraction holds the microseconds. */
interface ServerClock {
  nowMs: number;
}

/** Makes the expiry of a key relative to the test's clock. Redis deletes the key by its own. */
const RELATIVE_EXPIRY = `local redis = (function(server, now)
  local function of(call)
    return function(command, key, ...)
      local args = { ... }
      if command == 'PEXPIREAT' then
        command, args[1] = 'PEXPIRE', string.format('%.0f', tonumber(args[1]) - now)
      elseif command == 'SET' and args[2] == 'PXAT' then
        args[2], args[3] = 'PX', string.format('%.0f', tonumber(args[3]) - now)
      end
      return call(command, key, unpack(args))
    end
  end
  return setmetatable({ call = of(server.call), pcall = of(server.pcall) }, { __index = server })
end)(redis, NOW)
`;

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
      const text = String(command.args[0]).replaceAll(TIME, time);
      const flagsEnd = text.indexOf('\n') + 1;
      const expiry = RELATIVE_EXPIRY.replace('NOW', String(Math.floor(nowMs)));
      command.args[0] = text.slice(0, flagsEnd) + expiry + text.slice(flagsEnd);
    }
    return send(command);
  };
  return client;
}
