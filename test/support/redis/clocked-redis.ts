// A connection whose scripts read the test's clock instead of the server's: the only way to another day.
import { createHash, randomUUID } from 'node:crypto';
import { Command, type Redis } from 'ioredis';
import { connect } from './redis.js';

/** The scripts' time, in epoch ms. A fraction holds the microseconds. */
interface ServerClock {
  nowMs: number;
}

/** The lifetime of the key that has the time, in seconds. No test file takes that long. */
const KEPT_SECONDS = 3_600;

/** Gives a script the time at a key. Makes each expiry relative to it, because Redis deletes a key by its own clock. */
const OWN_TIME = `local redis = (function(server)
  local seconds, micros = string.match(server.call('GET', 'KEY'), '(%S+) (%S+)')
  local now = seconds * 1000 + math.floor(micros / 1000)
  local function is_whole(time) -- any other is refused, as it would be without this clock
    return string.find(time, '^%d+$')
  end
  local function of(call)
    return function(command, key, ...)
      local args = { ... }
      WRITTEN
      if command == 'TIME' then
        return { seconds, micros }
      elseif command == 'PEXPIREAT' and is_whole(args[1]) then
        command, args[1] = 'PEXPIRE', string.format('%.0f', tonumber(args[1]) - now)
      elseif command == 'SET' and args[2] == 'PXAT' and is_whole(args[3]) then
        args[2], args[3] = 'PX', string.format('%.0f', tonumber(args[3]) - now)
      end
      return call(command, key, unpack(args))
    end
  end
  return setmetatable({ call = of(server.call), pcall = of(server.pcall) }, { __index = server })
end)(redis)
`;

/** Writes numbers of Lua as Redis 7.2 and 7.4 do. Whole numbers with eight zeros at their end get an exponent. */
const AS_REDIS_7_2 = `for i, arg in ipairs(args) do
        local head, zeros = string.match(type(arg) == 'number' and string.format('%.0f', arg) or '', '^(-?%d-)(0+)$')
        if head and #zeros > 7 and tonumber(head .. zeros) == arg then
          local sign, first, rest = string.match(head, '^(-?)(%d)(%d*)$')
          args[i] = sign .. first .. (rest == '' and '' or '.') .. rest .. 'e+' .. (#rest + #zeros)
        end
      end`;

/**
 * Returns a client whose scripts are otherwise unchanged. The time travels in a key of this client. So the text of a
 * script is always the same, and the server compiles it once.
 *
 * @param numbers how the server writes numbers of Lua. Default: as it does by itself
 */
export function connectClocked(clock: ServerClock, numbers?: 'as Redis 7.2'): Redis {
  const client = connect();
  const send = client.sendCommand.bind(client);
  const key = `test-clock:${randomUUID()}`;
  const ownTime = OWN_TIME.replace('KEY', key).replace('WRITTEN', () => (numbers ? AS_REDIS_7_2 : ''));
  /** The digests of the changed scripts, by those of the library. */
  const digests = new Map<string, string>();
  let sentMs: number | undefined;
  const sendTime = () => {
    const { nowMs } = clock;
    if (nowMs !== sentMs) {
      sentMs = nowMs;
      const time = `${Math.floor(nowMs / 1_000)} ${Math.floor((nowMs % 1_000) * 1_000)}`;
      const set = new Command('set', [key, time, 'EX', KEPT_SECONDS]);
      void (send(set) as Promise<unknown>).catch(() => (sentMs = undefined));
    }
  };
  client.sendCommand = (command) => {
    const [script, ...others] = command.args.map(String);
    if (command.name === 'evalsha') {
      const digest = digests.get(script!);
      if (digest === undefined) {
        command.reject(new Error('NOSCRIPT the text is needed, to set its clock'));
        return command.promise;
      }
      sendTime();
      return sendAs(command, digest);
    }
    if (command.name === 'eval') {
      const flagsEnd = script!.indexOf('\n') + 1;
      const text = script!.slice(0, flagsEnd) + ownTime + script!.slice(flagsEnd);
      digests.set(digestOf(script!), digestOf(text));
      sendTime();
      return sendAs(command, text);
    }
    return send(command);

    /** Sends the command with another script. The bytes that were kept of the arguments name the old one. */
    function sendAs(sent: Command, other: string) {
      sent.args = [other, ...others];
      sent.toWritable = Command.prototype.toWritable.bind(sent);
      return send(sent);
    }
  };
  return client;
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
