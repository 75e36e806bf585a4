// The seed that finds each planted fault soonest. The specs, and `npm run simulate -- --draw`, draw those anew that no longer do.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Simulation } from '../simulation.js';
import type { Plant } from './plant.js';
import { plants } from './plants.js';

export interface Start {
  seed: number;
  steps: number;
}

/** The numbers of seeds that a draw tries, by their steps. Short runs come first. Turns show a fault only after minutes. */
const DRAWN: readonly (readonly [steps: number, seeds: number])[] = [
  [60, 20],
  [200, 12],
  [600, 10],
  [1_500, 12],
  [3_000, 8],
];

/** The time of a draw that tries all its seeds, on a busy machine. */
export const LONGEST_DRAW_MS = 600_000;

const FILE = new URL('soonest.json', import.meta.url);

/** Returns the named seeds, by the names of the faults. */
function readSoonest(): Record<string, Start> {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Start>) : {};
}

/** The most steps of a run that `npm test` makes to find a planted fault. */
const SHORT_STEPS = 200;

/** Returns the planted faults that a short run finds, or those that need a long one. A fault without a seed is a short one. */
export function plantsOf(length: 'short' | 'long'): [name: string, plant: Plant][] {
  const named = readSoonest();
  const isLong = (name: string) => (named[name]?.steps ?? 0) > SHORT_STEPS;
  return Object.entries(plants).filter(([name]) => isLong(name) === (length === 'long'));
}

/** Returns whether a run finds the fault. It ends at the first violation, which may be another than the fault's. */
async function finds(plant: Plant, { seed, steps }: Start): Promise<boolean> {
  const { violations } = await new Simulation(seed, steps, plant).run();
  return violations.some((violation) => violation.startsWith(`${plant.breaks}:`));
}

async function drawn(plant: Plant): Promise<Start | undefined> {
  for (const [steps, seeds] of DRAWN) {
    for (let seed = 1; seed <= seeds; seed++) {
      if (await finds(plant, { seed, steps })) return { seed, steps };
    }
  }
  return undefined;
}

/**
 * Finds a planted fault by its named seed. If that no longer does, it draws another one, and names it.
 *
 * @throws Error if no seed of a draw finds it
 */
export async function find(name: string, plant: Plant): Promise<Start> {
  const named = readSoonest()[name];
  if (named && (await finds(plant, named))) return named;
  const found = await drawn(plant);
  if (!found) throw new Error(`No seed finds that ${name}. Mend its plant, or the check of ${plant.breaks}.`);
  write({ ...readSoonest(), [name]: found });
  return found;
}

/** Draws a seed for each planted fault that its named seed no longer finds. */
export async function drawSoonest(): Promise<void> {
  for (const [name, plant] of Object.entries(plants)) {
    const before = readSoonest()[name];
    const { seed, steps } = await find(name, plant);
    if (seed !== before?.seed || steps !== before.steps) console.log(`${name}: seed ${seed}, ${steps} steps`);
  }
}

/** Writes the seeds in the order of the faults, and leaves out faults that are gone. */
function write(named: Readonly<Record<string, Start>>): void {
  const lines = Object.keys(plants)
    .filter((name) => named[name])
    .map((name) => `  ${JSON.stringify(name)}: { "seed": ${named[name]!.seed}, "steps": ${named[name]!.steps} }`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}
