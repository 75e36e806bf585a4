// Draws the mutants of a run by a seed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../chaos/random.js';
import { luaEdits } from './lua-edits.js';
import { mutantsBy, type Mutant } from './mutant.js';
import { typescriptEdits } from './typescript-edits.mjs';

/**
 * Returns the mutants of files, of folders and of lines such as `lua/job/cancel.lua:12`: all, or those of some operators.
 *
 * @throws Error if there are none
 */
export async function mutantsIn(
  root: string,
  only: readonly string[],
  kinds: readonly string[] = [],
): Promise<Mutant[]> {
  const mutants: Mutant[] = [];
  for (const place of only.flatMap((path) => filesOf(root, path))) {
    const [file, line] = place.split(':') as [string, string?];
    const text = readFileSync(join(root, file), 'utf8');
    const edits = file.endsWith('.lua') ? luaEdits(text) : await typescriptEdits(file, text, kinds);
    const chosen = edits.filter(({ operator }) => kinds.length === 0 || kinds.includes(operator));
    mutants.push(...mutantsBy(file, text, chosen).filter((mutant) => !line || mutant.line === Number(line)));
  }
  if (mutants.length === 0)
    throw new Error(
      `--only: expected a file, a folder or a line of lua or src with mutants of --kind, found "${only.join(', ')}".`,
    );
  return mutants;
}

/** Draws `count` mutants. Each operator has the same chance, since some make ten times as many as others. */
export function draw(mutants: readonly Mutant[], seed: number, count: number): Mutant[] {
  const random = new Random(seed);
  const left = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    const alike = left.get(mutant.operator) ?? [];
    left.set(mutant.operator, alike);
    alike.push(mutant);
  }
  const drawn: Mutant[] = [];
  while (drawn.length < count && left.size > 0) {
    const operator = random.pick([...left.keys()]);
    const alike = left.get(operator)!;
    drawn.push(...alike.splice(random.between(0, alike.length - 1), 1));
    if (alike.length === 0) left.delete(operator);
  }
  return drawn;
}

function filesOf(root: string, only: string): string[] {
  const path = only.replace(/\/$/, '');
  if (/\.(lua|ts)(:\d+)?$/.test(path)) return [path];
  return readdirSync(join(root, path), { recursive: true })
    .map((name) => `${path}/${String(name)}`)
    .filter((file) => /\.(lua|ts)$/.test(file) && !file.endsWith('.generated.ts'))
    .toSorted();
}
