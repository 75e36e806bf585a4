// The check of scripts names the place of a construct in the sources.
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { compileLua } from '#memory/lua/compile.js';
import { checkCommand } from '#memory/server/commands.js';
import { readLuaScripts } from '../../../scripts/build/embed-lua.mjs';
import { checkLua } from '../../../scripts/check/check-lua.mjs';
import { folderWith } from '../folder.js';

function compile(text: string): string {
  return compileLua(text, checkCommand);
}

it('names the file and the line of a construct in a script and in a library', () => {
  const dir = folderWith({
    'claim.lua': '-- takes jobs\n--@include lib/jobs\n\nreturn tonumber(jobs(), 16) -- seconds\n',
    'sound.lua': 'return 1\n',
    'lib/jobs.lua': '-- jobs\nlocal limit = 1\nlocal function jobs()\n  -- all\n  return table.getn(limit)\nend\n',
  });
  const texts = Object.entries(readLuaScripts(dir));
  const rest = 'is not in the subset of Lua that the server in memory runs';
  expect(checkLua(texts, compile, dir)).toEqual([
    `${join(dir, 'lib/jobs.lua')}:5: the function table.getn ${rest}`,
  ]);
  const others = texts.map(([name, text]): [string, string] => [name, text.replace('table.getn', 'tonumber')]);
  expect(checkLua(others, compile, dir)).toEqual([`${join(dir, 'claim.lua')}:4: tonumber of two values ${rest}`]);
});
