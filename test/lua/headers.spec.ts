import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { luaScripts, type LuaScriptName } from '#queue/lua.generated.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { changesJobs } from '#queue/transport/audited-script.js';
import { connect } from '../support/redis/redis.js';

const LUA = new URL('../../lua/', import.meta.url);
const STANDARD = 'KEYS: the standard keys, see lib/core/keys';

const files = readdirSync(LUA, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.lua'));
const scripts = files.filter((file) => !file.startsWith('lib/'));
const libs = files.filter((file) => file.startsWith('lib/')).map((file) => file.slice('lib/'.length));

/** Returns what a script has behind its header, with the lines that only another script with its body includes. */
function bodyOf(file: string): string {
  const lines = readFileSync(new URL(file, LUA), 'utf8').split('\n');
  const body = lines.slice(lines.findIndex((line) => !/^(#!|--(?!@))/.test(line)));
  return body.join('\n').replaceAll('--@limited', '--@include');
}

/** Returns a script's header, its code without strings and comments, and its includes. */
function read(file: string) {
  const own = readFileSync(new URL(file, LUA), 'utf8');
  const [directive, other] = /^--@body (\S+)$/m.exec(own) ?? [];
  const text = other ? own.replace(directive!, () => bodyOf(`${other}.lua`)) : own;
  const lines = text.split('\n');
  const first = lines[0]!.startsWith('#!') ? 1 : 0;
  const end = lines.findIndex((line, i) => i >= first && (!line.startsWith('--') || line.startsWith('--@include')));
  const code = lines.slice(end).map((line) => line.replace(/--(?!@include).*/, ''));
  return {
    flags: lines[0]!,
    header: lines.slice(first, end).join('\n'),
    code: code.join('\n'),
    includes: code.flatMap((line) => /^--@include (lib\/\S+)/.exec(line)?.[1] ?? []),
  };
}

const libraries = new Map(libs.map((file) => [file.slice(0, -'.lua'.length), read(`lib/${file}`)]));

/** Returns the libraries that a script includes, with their own libraries. */
function librariesOf(script: ReturnType<typeof read>): ReturnType<typeof read>[] {
  const found = new Set<ReturnType<typeof read>>();
  const add = ({ includes }: ReturnType<typeof read>): void => {
    for (const name of includes) {
      const library = libraries.get(name.slice('lib/'.length));
      if (!library || found.has(library)) continue;
      found.add(library);
      add(library);
    }
  };
  add(script);
  return [...found];
}

function numbers(text: string, pattern: RegExp): number[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => Number(match[1])))].toSorted((a, b) => a - b);
}

/** Returns the whole numbers from one to another. */
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** Returns the keys that a script uses: each by its position, or all of them unpacked into names. */
function usedKeys(code: string): number[] {
  const names = /^local ([\w,\s]+?) =\s+unpack\(KEYS\)$/m.exec(code)?.[1];
  return names ? names.split(',').map((_, i) => i + 1) : numbers(code, /KEYS\[(\d+)\]/g);
}

/** Returns the positions that a header documents: `ARGV[3]`, `ARGV[1..6]`, and the start of a list: `ARGV[7..]`. */
function documented(header: string, name: 'KEYS' | 'ARGV') {
  const single = numbers(header, new RegExp(`${name}\\[(\\d+)\\]`, 'g'));
  const ranges = [...header.matchAll(new RegExp(`${name}\\[(\\d+)\\.\\.(\\d+)\\]`, 'g'))].flatMap((match) =>
    Array.from({ length: Number(match[2]) - Number(match[1]) + 1 }, (_, i) => Number(match[1]) + i),
  );
  const open = new RegExp(`${name}\\[(\\d+)\\.\\.\\]`).exec(header)?.[1];
  const all = new RegExp(`${name}, for each`).test(header) ? 1 : undefined;
  return {
    fixed: [...single, ...ranges].toSorted((a, b) => a - b),
    rest: open === undefined ? all : Number(open),
  };
}

const nameOf = (file: string) => file.replace(/\.(lua|spec\.ts)$/, '');

it('has a spec of its own name for each script', () => {
  const specs = readdirSync(new URL('.', import.meta.url), { recursive: true }).map(String);
  const named = new Set(specs.filter((file) => file.endsWith('.spec.ts')).map(nameOf));
  expect(scripts.filter((file) => !named.has(nameOf(file)))).toEqual([]);
});

describe.each(scripts)('lua/%s', (file) => {
  const script = read(file);
  const included = librariesOf(script);
  const embedded = file
    .slice(0, -'.lua'.length)
    .replace(/[-/](\w)/g, (_, letter: string) => letter.toUpperCase()) as LuaScriptName;

  it('describes its effect, its reply and a repeated call', () => {
    expect(script.header).toMatch(/^-- [A-Z].*[a-z]/);
    expect(script.header).toMatch(/Returns[ ,]/);
    expect(script.header).toMatch(/Repeated[: ]/);
  });

  it('has flags, by which Redis 7 limits it', () => {
    // A call for many queues of one master of a Cluster has keys of many slots.
    expect(script.flags).toMatch(/^#!lua( flags=(no-writes,)?allow-oom(,allow-cross-slot-keys)?)?$/);
  });

  it('declares a transition where its commands change the status of a job, or delete one', () => {
    const code = [script, ...included].map((part) => part.code).join('\n');
    // A key that holds no hash was no job: lib/core/read deletes it.
    const changes = /'HSET', [^\n]*'status'|'UNLINK', (job \.\.|at\.key)/.test(code);
    expect([file, changesJobs(embedded)]).toEqual([file, changes]);
  });

  it('includes only libraries that exist, after those that they need', () => {
    for (const name of script.includes) {
      expect(libs).toContain(`${name.slice('lib/'.length)}.lua`);
    }
  });

  it('uses the keys that its header documents, and documents those that it uses', () => {
    const keys = documented(script.header, 'KEYS');
    if (script.header.includes(STANDARD)) {
      expect(script.includes).toContain('lib/core/keys');
      expect(script.code).not.toContain('KEYS[');
    } else {
      expect(keys.fixed).toEqual(usedKeys(script.code));
    }
  });

  it('names its keys at the top and has no bare ones in its logic', () => {
    const logic = script.code.split('\n').filter((line) => !/^local [\w, ]+ = /.test(line));
    expect(logic.join('\n')).not.toMatch(/KEYS\[/);
  });

  it('uses the arguments that its header documents, and documents those that it uses', () => {
    const { fixed, rest } = documented(script.header, 'ARGV');
    const code = [script.code, ...included.map((library) => library.code)].join('\n');
    const first = Number(/local first = (\d+)/.exec(code)?.[1] ?? 0);
    const used = [
      ...numbers(code, /ARGV\[(\d+)\]/g),
      ...numbers(code.replaceAll('[first]', '[first + 0]'), /ARGV\[first \+ (\d+)\]/g).map((i) => first + i),
      ...[...code.matchAll(/unpack\(ARGV, (\d+), (\d+)\)/g)].flatMap(([, from, to]) =>
        range(Number(from), Number(to)),
      ),
    ];
    const last = fixed.at(-1) ?? 0;
    expect(fixed).toEqual(range(1, last));
    for (const position of used) {
      expect(position <= last || (rest !== undefined && position >= rest)).toBe(true);
    }
    if (rest !== undefined) {
      expect(rest).toBe(last + 1);
      expect(code).toMatch(/ARGV\[i|#ARGV|ipairs\(ARGV\)|unpack\(ARGV/);
    } else {
      expect(new Set(used)).toEqual(new Set(fixed));
    }
  });

  it('loads', async () => {
    expect(await connect().script('LOAD', luaScripts[embedded])).toMatch(/^[0-9a-f]{40}$/);
  });
});

describe('the specs', () => {
  const specs = readdirSync(new URL('.', import.meta.url), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.spec.ts') && file.includes('/'));

  it.each(specs)('%s names a script by its path', (file) => {
    const text = readFileSync(new URL(file, import.meta.url), 'utf8');
    const named = [...text.matchAll(/\bdescribe\(['"`]([\w/-]+\.lua)\b/g)].map(([, script]) => script!);
    expect(named.filter((script) => !scripts.includes(script))).toEqual([]);
  });
});

describe('lua/lib', () => {
  it.each(libs)('%s names the functions that it gives to scripts', (file) => {
    const { header } = read(`lib/${file}`);
    const text = header === '' ? readFileSync(new URL(`lib/${file}`, LUA), 'utf8') : header;
    expect(text).toMatch(/^-- \S+/);
  });

  it('names the standard keys in the order in which they are sent', () => {
    const { code } = read('lib/core/keys.lua');
    const names = [...code.matchAll(/local (\w+) = KEYS\[(\d+)\]/g)].map(([, name, at]) => [name, Number(at)]);
    const keys = new QueueKeys('jobs');
    const sent = keys.standard.map((key, i) => [key.slice('queue:jobs:'.length).replace(/:$/, ''), i + 1]);
    expect(names).toEqual(sent);
  });

  it.each([
    ['job/enqueue', 'forPublishedEnqueue'],
    ['attempt/complete', 'forFollowedComplete'],
    ['attempt/extend', 'forExtend'],
  ] as const)('the keys of %s are sent in the order of its header', (name, list) => {
    const keys = new QueueKeys('jobs');
    expect(keys[list].map((key) => key.slice('queue:jobs:'.length))).toEqual(headerKeys(name));
  });

  it('plain jobs are enqueued with the first keys of an enqueue, and no others', () => {
    const keys = new QueueKeys('jobs');
    const plain = keys.forPlainEnqueue;
    expect(plain).toEqual(keys.forEnqueue.slice(0, plain.length));
    const { code } = read('lib/enqueue/add_plain.lua');
    const others = ['prioritized', 'scheduled', 'sequence', 'unique', 'unique_expiries', 'replaced', 'groups'];
    expect(others.filter((name) => new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });

  it('the keys of claim are sent in the order of its header', () => {
    const keys = new QueueKeys('jobs').forNamedClaim('w');
    expect(keys.map((key) => key.slice('queue:jobs:'.length).replace(/^batch:w$/, 'batch'))).toEqual(
      headerKeys('attempt/claim'),
    );
  });
});

function headerKeys(script: string): string[] {
  const { header } = read(`${script}.lua`);
  return [...header.matchAll(/KEYS\[\d+\] (\w+) /g)].map((match) =>
    match[1]!.replace(/^(job|replaced|batch_record|groups)$/, '$1:'),
  );
}
