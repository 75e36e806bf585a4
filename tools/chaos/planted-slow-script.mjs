// NODE_OPTIONS=--import=…/planted-slow-script.mjs: one script of the library works for long, in each process of a run.
import './register.mjs';

const { luaScripts } = await import('../../src/queue/lua.generated.ts');
// Slows one call of a run by some 2 s. The first call is spared, because it sends the script as text. Goes after the
// first line, which sets the flags.
const busy = `local planted = KEYS[13] .. ':planted'
  if redis.call('INCR', planted) == 2 then for _ = 1, 4e8 do end end
  redis.call('PEXPIRE', planted, 60000)`;
luaScripts.sweepReclaim = luaScripts.sweepReclaim.replace('\n', `\n${busy}\n`);
