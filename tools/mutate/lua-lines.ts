// Counts which lines of the scripts the specs in memory reach. In a copy of the project each statement of Lua first names its
// line. It calls `redis.sha1hex` with the line, and the runtime of the copy notes the line.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Node } from 'luaparse';
import { visitLua } from './lua-edits.js';
import { Workplace } from './workplace.js';

const RUNTIME = 'src/memory/lua/runtime.ts';
const DIGEST = "'redis.sha1hex': (value) =>";
const NOTED = `${DIGEST} String(value).startsWith('@lua/') ? void (globalThis.luaLines ??= new Set()).add(value) :`;

interface Statement {
  readonly at: number;
  readonly line: number;
  /** What stands before it in its line. */
  readonly before: string;
}

/** Returns the statements of a text, from the last to the first. */
function statementsOf(text: string): Statement[] {
  const places = new Set<number>();
  visitLua(text, ({ body }) => {
    for (const { range } of (body as Node[] | undefined) ?? []) places.add(range[0]);
  });
  return [...places]
    .toSorted((one, other) => other - one)
    .map((at) => {
      const lines = text.slice(0, at).split('\n');
      return { at, line: lines.length, before: lines.at(-1)! };
    });
}

/** Returns a text whose statements name their lines. A statement keeps its indent, because the embedding goes by that. */
export function markedLua(file: string, text: string): string {
  return statementsOf(text).reduce((marked, { at, line, before }) => {
    const indent = /^\s*$/.test(before) ? before : ' ';
    return `${marked.slice(0, at)}redis.sha1hex('@${file}:${line}')\n${indent}${marked.slice(at)}`;
  }, text);
}

/** Runs specs in memory. Returns all lines with a statement, each with whether the specs reached the line. */
export function reachedLines(root: string, specs: readonly string[]): Map<string, boolean> {
  const workplace = new Workplace(root, true);
  const found = mkdtempSync(join(tmpdir(), 'lua-lines-'));
  const lines = new Map<string, boolean>();
  try {
    const runtime = join(workplace.folder, RUNTIME);
    const text = readFileSync(runtime, 'utf8');
    if (!text.includes(DIGEST))
      throw new Error(`Expected "${DIGEST}" in ${RUNTIME}, found none. Name it here anew.`);
    writeFileSync(runtime, text.replace(DIGEST, NOTED));
    workplace.changeScripts((file, lua) => {
      for (const { line } of statementsOf(lua)) lines.set(`${file}:${line}`, false);
      return markedLua(file, lua);
    });
    const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--silent'];
    const environment = '--env=<rootDir>/tools/mutate/jest/lines-environment.mjs';
    spawnSync(process.execPath, [...jest, '--selectProjects=in memory', environment, ...specs], {
      cwd: workplace.folder,
      stdio: 'inherit',
      env: { ...process.env, LUA_LINES: found },
    });
    for (const name of readdirSync(found)) {
      for (const line of readFileSync(join(found, name), 'utf8').split('\n'))
        if (line) lines.set(line.slice(1), true);
    }
    return lines;
  } finally {
    rmSync(found, { recursive: true });
    void workplace.close();
  }
}

/** Returns the table of the rooms, and each line that no spec reaches, with its text. */
export function linesReport(root: string, lines: ReadonlyMap<string, boolean>): string {
  const rooms = new Map<string, { all: number; reached: number }>();
  const left: string[] = [];
  for (const [place, isReached] of [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [file, line] = place.split(':') as [string, string];
    const room = rooms.get(dirname(file)) ?? { all: 0, reached: 0 };
    rooms.set(dirname(file), { all: room.all + 1, reached: room.reached + Number(isReached) });
    if (isReached) continue;
    left.push(`${place} ${readFileSync(join(root, file), 'utf8').split('\n')[Number(line) - 1]!.trim()}`);
  }
  const rows = [...rooms].map(([room, { all, reached }]) => `| ${room} | ${all} | ${reached} | ${all - reached} |`);
  const head = ['| room | lines with a statement | reached | not reached |', '|---|---|---|---|'];
  return [...head, ...rows, '', ...left].join('\n');
}
