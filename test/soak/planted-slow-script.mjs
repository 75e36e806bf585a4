// NODE_OPTIONS=--import=…/planted-slow-script.mjs: one script of the library works for long, in each process of a run.
import './register.mjs';

const { luaScripts } = await import('../../src/queue/lua.generated.ts');
// Some 200 ms, each other second, so that the fleet can still work. After the first line, which sets the flags.
const busy = `if redis.call('TIME')[1] % 2 == 0 then for _ = 1, 4e7 do end end`;
luaScripts.reclaim = luaScripts.reclaim.replace('\n', `\n${busy}\n`);
