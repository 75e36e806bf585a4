import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import {
  readLuaScripts,
  readLuaTexts,
  readTransitions,
  renderDigests,
  renderModule,
  stripComments,
  withoutDigests,
} from '../../../scripts/build/embed-lua.mjs';
import { folderWith } from '../folder.js';

describe('embed-lua', () => {
  it('names scripts in camel case and puts libraries where they are included', () => {
    const dir = folderWith({
      'claim-many.lua': '-- takes jobs\nlocal a = 1\n\n--@include lib/now\nreturn now()\n',
      'lib/now.lua': "-- server time\nlocal function now()\n  return redis.call('TIME')[1] -- seconds\nend\n",
    });
    expect(readLuaScripts(dir)).toEqual({
      claimMany: "local function now()\n  return redis.call('TIME')[1]\nend\nreturn now()\n",
    });
  });

  it('puts a library where another includes it', () => {
    const dir = folderWith({
      'claim.lua': '--@include lib/claiming\nreturn claim()\n',
      'lib/claiming.lua': 'local function claim()\n--@include lib/now\n  return now\nend\n',
      'lib/now.lua': "local now = redis.call('TIME')[1]\n",
    });
    expect(readLuaScripts(dir).claim).toBe(
      "local function claim()\nlocal now = redis.call('TIME')[1]\n  return now\nend\nreturn claim()\n",
    );
  });

  it('puts a statement at each place where a library is included, and drops unused definitions', () => {
    const dir = folderWith({
      'claim.lua':
        'local wake, unused = 1, { a = 1 }\n--@include lib/b\n--@include lib/wake\n--@include lib/wake\n',
      'lib/b.lua':
        'local factor = 2\nlocal function twice(n)\n  return n * factor\nend\nlocal function b() end\nb()\n',
      'lib/wake.lua': '-- Needs: wake.\nerror(wake)\n',
    });
    expect(readLuaScripts(dir).claim).toBe(
      'local wake, unused = 1, { a = 1 }\nlocal function b() end\nb()\nerror(wake)\nerror(wake)\n',
    );
  });

  it('makes a local of each used key only', () => {
    const dir = folderWith({ 'claim.lua': 'local job, pending,\n  wake = unpack(KEYS)\nreturn { job, wake }\n' });
    expect(readLuaScripts(dir).claim).toBe('local job, wake = KEYS[1], KEYS[3]\nreturn { job, wake }\n');
  });

  it('drops unused keys of a list', () => {
    const dir = folderWith({
      'claim.lua': '--@include lib/keys\nreturn wake\n',
      'lib/keys.lua': 'local job = KEYS[1]\nlocal wake = KEYS[2]\n',
    });
    expect(readLuaScripts(dir).claim).toBe('local wake = KEYS[2]\nreturn wake\n');
  });

  it('hides the names that only their own library uses', () => {
    const dir = folderWith({
      'claim.lua': '--@include lib/claiming\nreturn claim(limit)\n',
      'lib/claiming.lua':
        'local most, limit = 1, 2\nlocal seen\nlocal count = 0\n' +
        '--@include lib/ids\nlocal function claim(n)\n  seen, count = id(n), count + 1\n  return seen, count\nend\n',
      'lib/ids.lua':
        'local first, last = 1, 2\nlocal function id(n)\n  return first + last + n\nend\nlocal wide = id(3)\n' +
        'local function ids()\n  return wide\nend\nids()\n',
    });
    expect(readLuaScripts(dir).claim).toBe(
      'local most, limit, claim do\nmost, limit = 1, 2\nlocal seen\nlocal count = 0\n' +
        'local id do\nlocal first, last = 1, 2\nfunction id(n)\n  return first + last + n\nend\n' +
        'local wide = id(3)\nlocal function ids()\n  return wide\nend\nids()\nend\n' +
        'function claim(n)\n  seen, count = id(n), count + 1\n  return seen, count\nend\nend\nreturn claim(limit)\n',
    );
  });

  it('makes the names that others use fields of a table, if a library has three functions among them', () => {
    const dir = folderWith({
      'claim.lua': '--@include lib/room/line\nif first then\n  add(1)\nend\nreturn size(), clear\n',
      'lib/room/line.lua':
        'local first, last = 1, 2\nlocal held\nlocal function add(id)\n  first, held = id, last\nend\n' +
        'local function size()\n  add(held)\n  return { first = first }\nend\nlocal function clear()\nend\n',
    });
    expect(readLuaScripts(dir).claim).toBe(
      'local lib_room_line = { first = nil, last = nil, add = nil, size = nil, clear = nil }\n' +
        'lib_room_line.first, lib_room_line.last = 1, 2\nlocal held\n' +
        'function lib_room_line.add(id)\n  lib_room_line.first, held = id, lib_room_line.last\nend\n' +
        'function lib_room_line.size()\n  lib_room_line.add(held)\n  return { first = lib_room_line.first }\nend\n' +
        'function lib_room_line.clear()\nend\n' +
        'if lib_room_line.first then\n  lib_room_line.add(1)\nend\nreturn lib_room_line.size(), lib_room_line.clear\n',
    );
  });

  it('puts the lines for a Cluster only into a second text', () => {
    const dir = folderWith({
      'claim.lua': 'local wake = 1\n--@include lib/wake\nreturn wake\n',
      'list.lua': 'return 1\n',
      'lib/wake.lua': '-- Needs: wake.\n--@cluster lib/waiter\nerror(wake)\n',
      'lib/waiter.lua': '-- Needs: wake.\nredis.call(wake)\n',
    });
    const { scripts, clusterScripts } = readLuaTexts(dir);
    expect(scripts.claim).toBe('local wake = 1\nerror(wake)\nreturn wake\n');
    expect(clusterScripts).toEqual({ claim: 'local wake = 1\nredis.call(wake)\nerror(wake)\nreturn wake\n' });
  });

  it('gives a script the body of another one, with lines that only it has', () => {
    const dir = folderWith({
      'claim.lua': '#!lua\n-- header\nlocal wake = 1\n--@limited lib/bound\nreturn wake\n',
      'claim-limited.lua': '#!lua flags=allow-oom\n-- its own header\n--@body claim\n',
      'lib/bound.lua': '-- Needs: wake.\nwake = 2\n',
    });
    expect(readLuaTexts(dir).scripts).toEqual({
      claim: '#!lua\nlocal wake = 1\nreturn wake\n',
      claimLimited: '#!lua flags=allow-oom\nlocal wake = 1\nwake = 2\nreturn wake\n',
    });
  });

  it('writes the line of needs at the end of a header', () => {
    const dir = folderWith({
      'claim.lua': 'local now = 1\n--@include lib/b\n--@include lib/c\nreturn b() + c()\n',
      'lib/b.lua': '-- b(): time.\n-- Needs: old,\n--   older.\nlocal function b()\n  return now\nend\n',
      'lib/c.lua': '-- c(): more.\nlocal function c()\n  return b() + now\nend\n',
    });
    const right: string[] = [];
    readLuaScripts(dir, (_file, text) => right.push(text));
    expect(right).toEqual([
      '-- b(): time.\n-- Needs: now.\nlocal function b()\n  return now\nend\n',
      '-- c(): more.\n-- Needs: now, lib/b.\nlocal function c()\n  return b() + now\nend\n',
    ]);
  });

  it('keeps the line of flags first', () => {
    const dir = folderWith({ 'settle.lua': '#!lua flags=allow-oom\n-- header\nreturn 1\n' });
    expect(readLuaScripts(dir).settle).toBe('#!lua flags=allow-oom\nreturn 1\n');
  });

  it('keeps strings that look like comments, and drops block comments', () => {
    expect(stripComments('x', `local s = 'a--b' .. "c\\"--d" -- e\n--[[ two\nlines ]]return s\n`)).toBe(
      `local s = 'a--b' .. "c\\"--d"\n return s\n`,
    );
  });

  it.each([
    ['a missing library', { 'a.lua': '--@include lib/gone\n' }, /a\.lua:1: there is no lib\/gone\.lua/],
    [
      'an unused library',
      { 'a.lua': 'return 1\n', 'lib/b.lua': 'error()\n' },
      /lib\/b\.lua: no script includes it/,
    ],
    [
      'a missing library of a library',
      { 'a.lua': '--@include lib/b\n', 'lib/b.lua': 'x()\n--@include lib/c\n' },
      /lib\/b\.lua:2: there is no lib\/c\.lua/,
    ],
    [
      'libraries that include each other',
      { 'a.lua': '--@include lib/b\n', 'lib/b.lua': '--@include lib/c\n', 'lib/c.lua': '--@include lib/b\n' },
      /lib\/c\.lua:1: .*already/,
    ],
    [
      'an include of another form',
      { 'a.lua': '-- @include lib/b\n', 'lib/b.lua': '' },
      /a\.lua:1: expected exactly/,
    ],
    [
      'a double include',
      { 'a.lua': '--@include lib/b\n--@include lib/b\n', 'lib/b.lua': 'local x = 1\n' },
      /a\.lua:2: .*already/,
    ],
    [
      'a name that is defined twice',
      { 'a.lua': '--@include lib/b\nlocal x, gate = 1, 2\n', 'lib/b.lua': 'local function gate()\nend\n' },
      /a\.lua: the local "gate" is defined twice at the top level.* rename one/,
    ],
    [
      'a name that nothing defines',
      { 'a.lua': '--@include lib/b\nreturn b()\n', 'lib/b.lua': 'local function b()\n  return now\nend\n' },
      /lib\/b\.lua:2: nothing defines the name "now" in .*a\.lua/,
    ],
    [
      'a name that a nearer local hides',
      {
        'a.lua': 'local now = 1\nlocal function a(now)\n--@include lib/b\n  return now\nend\nreturn a(now)\n',
        'lib/b.lua': '-- Needs: now.\nnow = now + 1\n',
      },
      /lib\/b\.lua:2: "now" is the local of .*a\.lua:2, which hides another one/,
    ],
    [
      'a stale line of needs',
      {
        'a.lua': 'local now = 1\n--@include lib/b\nreturn b()\n',
        'lib/b.lua': '-- Needs: time.\nlocal function b()\n  return now\nend\n',
      },
      /lib\/b\.lua: expected -- Needs: now\./,
    ],
    [
      'a need that nothing uses',
      { 'a.lua': '--@include lib/b\nreturn b\n', 'lib/b.lua': '-- Needs: now.\nlocal b = 1\n' },
      /lib\/b\.lua: expected no line/,
    ],
    ['a folder without scripts', { 'readme.txt': '' }, /expected at least one \.lua script/],
    ['a long string', { 'a.lua': 'return [[x]]\n' }, /a\.lua: long bracket strings/],
  ])('refuses %s and names the file', (_case, files, message) => {
    expect(() => readLuaScripts(folderWith(files as Record<string, string>))).toThrow(message);
  });

  it('reads the transition that each script declares; one that writes nothing needs none', () => {
    const dir = folderWith({
      'job/run-again.lua': '#!lua flags=allow-oom\n-- Runs it.\n-- Transition: run-again\nreturn 1\n',
      'job/log.lua': '#!lua\n-- Transition: none\nreturn 1\n',
      'job/list.lua': '#!lua flags=no-writes,allow-oom\nreturn 1\n',
      'lib/now.lua': 'x()\n',
    });
    expect(readTransitions(dir)).toEqual({ jobRunAgain: 'run-again' });
  });

  it.each([
    ['nothing', '#!lua\n-- Adds jobs.\nreturn 1\n', /a\.lua: expected one line "-- Transition: .* found 0/],
    ['two transitions', '-- Transition: a\n-- Transition: b\n', /a\.lua: expected one line .* found 2/],
    ['a name of another form', '-- Transition: Adds jobs\n', /a\.lua: expected one line .* found 0/],
    [
      'one, but may not write',
      '#!lua flags=no-writes\n-- Transition: a\n',
      /a\.lua: .*no-writes has no transition/,
    ],
  ])('refuses a script that declares %s', (_case, text, message) => {
    expect(() => readTransitions(folderWith({ 'a.lua': text }))).toThrow(message);
  });

  it('renders a module with every text, in which a shared part stands once', async () => {
    const shared = 'local function twice(n)\n  return n * 2 -- "a\\n" `${b}`\nend\n';
    const scripts = { claim: `#!lua\n${shared}return twice(1)\n`, settle: `${shared}return 'x'\n`, last: 'x' };
    const clustered = `#!lua\n${shared}wake()\nreturn twice(1)\n`;
    const module = renderModule(scripts, { claim: 'claim' }, { claim: clustered });
    expect(module.split('local function twice')).toHaveLength(2);
    const code = ts.transpileModule(module, { compilerOptions: { module: ts.ModuleKind.ESNext } }).outputText;
    const digestModule = renderDigests(scripts, { claim: clustered });
    expect(digestModule).toContain("type LuaScriptName = 'claim' | 'settle' | 'last'");
    const digests = ts.transpileModule(digestModule, {
      compilerOptions: { module: ts.ModuleKind.ESNext },
    }).outputText;
    const folder = folderWith({
      'package.json': '{ "type": "module" }',
      'module.js': code,
      'digests.generated.js': digests,
    });
    const file = join(folder, 'module.js');
    const { luaScripts, clusterScripts, transitions } = (await import(file)) as Record<
      string,
      Record<string, string>
    >;
    expect({ ...luaScripts }).toEqual(scripts);
    expect({ ...clusterScripts }).toEqual({ ...scripts, claim: clustered });
    expect(transitions).toEqual({ claim: 'claim' });
    const { scriptDigests, clusterDigests } = await import(join(folder, 'digests.generated.js'));
    expect(scriptDigests).toEqual(mapped(scripts, sha1));
    expect(clusterDigests).toEqual(mapped({ ...scripts, claim: clustered }, sha1));
    luaScripts!.settle = 'return 1';
    expect(scriptDigests).toEqual(mapped({ claim: scripts.claim, last: 'x' }, sha1));
  });
});

it('empties the digests, and keeps the commands and the names', () => {
  const module = renderDigests({ claim: "redis.call('GET', KEYS[1])" }, { claim: 'return 1' });
  const emptied = withoutDigests(module);
  expect(module).toMatch(/[0-9a-f]{40}/);
  expect(emptied).not.toMatch(/[0-9a-f]{40}/);
  expect(emptied).toContain('scriptCommands: readonly string[] = ["get"]');
  expect(emptied).toContain("LuaScriptName = 'claim'");
});

function mapped(texts: Record<string, string>, to: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, to(text)]));
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
