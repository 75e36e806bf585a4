// Runs the same Lua on Redis and in this process, and returns what each made of it.
import type { Redis } from 'ioredis';
import { ScriptServer } from '#memory/server/script-server.js';
import { LuaTable } from '#memory/lua/values.js';

/** The number of expressions of one script. */
const SLICE = 600;

/** Shows a value with its type and all its digits. Fields are shown in the order of their keys. */
const SHOW = `
local function show(value, depth)
  local kind = type(value)
  if kind == 'number' then
    return value ~= value and 'n:nan' or 'n:' .. string.format('%.17g', value)
  elseif kind == 'string' then
    return 's:' .. value
  elseif kind ~= 'table' then
    return kind == 'boolean' and tostring(value) or kind
  elseif value.err then
    return 'refused: ' .. string.match(value.err, '^%S+')
  elseif depth > 20 then
    return 'deep'
  end
  local parts, fields = {}, {}
  for i = 1, #value do
    parts[i] = show(value[i], depth + 1)
  end
  for key, each in pairs(value) do
    if type(key) ~= 'number' or key < 1 or key > #value or key % 1 ~= 0 then
      fields[#fields + 1] = show(key, depth + 1) .. '=' .. show(each, depth + 1)
    end
  end
  table.sort(fields)
  return '{' .. table.concat(parts, ',') .. ';' .. table.concat(fields, ',') .. '}'
end
local function sorted(values)
  if type(values) == 'table' and not values.err then
    table.sort(values)
  end
  return values
end
local function rounded(ms)
  return type(ms) == 'number' and ms > 0 and math.ceil(ms / 100) * 100 or ms
end
local function shown(done, ...)
  if not done then
    return 'error'
  end
  local parts = {}
  for i = 1, select('#', ...) do
    parts[i] = show((select(i, ...)), 1)
  end
  return table.concat(parts, ' ')
end
`;

/** Returns a script that shows the values of some expressions, or `error` for each that raises one. */
function scriptOf(expressions: readonly string[]): string {
  const runs = expressions.map((each) => `replies[#replies + 1] = shown(pcall(function() return ${each} end))`);
  return `${SHOW}\nlocal replies = {}\n${runs.join('\n')}\nredis.call('UNLINK', KEYS[1])\nreturn replies`;
}

/** Returns a text without what differs by chance: the sign of NaN, and addresses. */
function plain(text: string): string {
  return text.replace(/-nan/g, 'nan').replace(/(table|function|userdata): 0x[0-9a-f]+/g, '$1');
}

/** Runs expressions on both. Returns a line for each whose values differ. Expressions that use KEYS get one key. */
export async function differences(redis: Redis, key: string, expressions: readonly string[]): Promise<string[]> {
  const server = new ScriptServer(() => Date.now());
  const found: string[] = [];
  for (let from = 0; from < expressions.length; from += SLICE) {
    const slice = expressions.slice(from, from + SLICE);
    const script = scriptOf(slice);
    const there = (await redis.callBuffer('EVAL', script, 1, key)) as Buffer[];
    const here = (server.run(script, [key], []) as LuaTable).items as string[];
    slice.forEach((expression, i) => {
      const [one, other] = [plain(there[i]!.toString('latin1')), plain(here[i]!)];
      if (one !== other) found.push(`${expression}: ${one} on Redis, ${other} in memory`);
    });
  }
  return found;
}

/** Writes a text as a literal of Lua. */
export function literal(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  return `'${[...bytes].map((code) => (code > 31 && code < 127 && code !== 39 && code !== 92 ? String.fromCharCode(code) : `\\${String(code).padStart(3, '0')}`)).join('')}'`;
}

/** Writes a command as a call that returns an error in place of raising it. */
export function sent(...words: readonly string[]): string {
  const args = words.map((word, i) => (i === 1 && word === 'KEY' ? 'KEYS[1]' : literal(word)));
  return `redis.pcall(${args.join(',')})`;
}
