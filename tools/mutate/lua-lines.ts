// Counts which lines of the scripts the specs in memory reach. In a copy of the project each statement of Lua first names its
// line. It calls `redis.sha1hex` with the line, and the runtime of the copy notes the line.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Node } from 'luaparse';
import { visitLua } from './lua-edits.js';
import { Workplace } from './workplace.js';

const RUNTIME = 'src/memory/lua/runtime.ts';
const DIGEST = "'redis.sha1hex': (value) =>";
const NOTED = `${DIGEST} String(value).startsWith('@lua/') ? void (globalThis.luaLines ??= new Set()).add(value) :`;

interface Statement {
  readonly at: number;
  readonly end: number;
  readonly line: number;
  /** What stands before it in its line. */
  readonly before: string;
}

/** Returns the statements of a text, from the last to the first. */
function statementsOf(text: string): Statement[] {
  const ends = new Map<number, number>();
  visitLua(text, ({ body }) => {
    for (const { range } of (body as Node[] | undefined) ?? []) ends.set(...range);
  });
  return [...ends]
    .toSorted(([one], [other]) => other - one)
    .map(([at, end]) => {
      const lines = text.slice(0, at).split('\n');
      return { at, end, line: lines.length, before: lines.at(-1)! };
    });
}

/** Returns a text whose statements name their lines. A statement keeps its indent, because the embedding goes by that. */
export function markedLua(file: string, text: string): string {
  return statementsOf(text).reduce((marked, { at, line, before }) => {
    const indent = /^\s*$/.test(before) ? before : ' ';
    return `${marked.slice(0, at)}redis.sha1hex('@${file}:${line}')\n${indent}${marked.slice(at)}`;
  }, text);
}

/** The lines that a spec in memory reaches, such as `lua/job/cancel.lua:12`. */
export interface LinesOfSpec {
  /** The path of the test file. */
  readonly file: string;
  readonly seconds: number;
  readonly lines: readonly string[];
}

/** Returns the place of the statement that holds a mutant, or of the one before it. Before the first it is the first. */
export function statementLine(file: string, text: string, at: number): string {
  const all = statementsOf(text);
  const before = all.filter((statement) => statement.at <= at);
  const holding = before.find(({ end }) => end >= at);
  return `${file}:${(holding ?? before[0] ?? all.at(-1))?.line ?? 1}`;
}

/** Reads what specs reach, as the last run of `recordLines` noted it. @throws Error if nothing is there */
export function readLines(folder: string): LinesOfSpec[] {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  if (files.length === 0) throw new Error(`No records in ${folder}: run npm run mutate -- --lines first.`);
  return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as LinesOfSpec);
}

/** The arguments of Jest for the specs of the scripts in memory. Others are in the project for Redis. */
const OF_SCRIPTS = ['--selectProjects=in memory'];
const OTHERS = ['--ignoreProjects=in memory'];

/** Runs specs in memory, and notes in a folder which lines of the scripts each reaches. */
export function recordLines(root: string, specs: readonly string[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  const workplace = new Workplace(root, true);
  try {
    const runtime = join(workplace.folder, RUNTIME);
    const text = readFileSync(runtime, 'utf8');
    if (!text.includes(DIGEST))
      throw new Error(`Expected "${DIGEST}" in ${RUNTIME}, found none. Name it here anew.`);
    writeFileSync(runtime, text.replace(DIGEST, NOTED));
    workplace.changeScripts(markedLua);
    const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--silent'];
    const environment = '--env=<rootDir>/tools/mutate/jest/lines-environment.mjs';
    const areOthers = specs.some((path) => !path.startsWith('test/lua'));
    spawnSync(process.execPath, [...jest, ...(areOthers ? OTHERS : OF_SCRIPTS), environment, ...specs], {
      cwd: workplace.folder,
      stdio: 'inherit',
      env: { ...process.env, LUA_LINES: folder, ...(areOthers && { TEST_REDIS: 'memory' }) },
    });
  } finally {
    void workplace.close();
  }
}

/** Returns all lines of the scripts with a statement, each with whether a spec reaches the line. */
export function reachedLines(root: string, records: readonly LinesOfSpec[]): Map<string, boolean> {
  const reached = new Set(records.flatMap(({ lines }) => lines));
  const lines = new Map<string, boolean>();
  for (const name of readdirSync(join(root, 'lua'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.lua')) continue;
    const file = `lua/${name}`;
    for (const { line } of statementsOf(readFileSync(join(root, file), 'utf8'))) {
      lines.set(`${file}:${line}`, reached.has(`${file}:${line}`));
    }
  }
  return lines;
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
