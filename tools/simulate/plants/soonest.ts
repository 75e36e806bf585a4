// The seed that finds each planted fault soonest. `npm run simulate -- --draw` draws those anew that no longer do.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Simulation } from '../simulation.js';
import type { Plant } from './plant.js';
import { plants } from './plants.js';

export interface Start {
  seed: number;
  steps: number;
}

/** The steps and the number of seeds that a draw tries, the shortest runs first. Turns show a fault only after minutes. */
export const DRAWN_STEPS = [60, 200, 500, 1_500, 3_000];
const DRAWN_SEEDS = 60;

const FILE = new URL('soonest.json', import.meta.url);

/** Returns the named seeds, by the names of the faults. */
export function readSoonest(): Record<string, Start> {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Start>;
}

/** Returns whether a run finds the fault. It ends at the first violation, which may be another than the fault's. */
export async function finds(plant: Plant, { seed, steps }: Start): Promise<boolean> {
  const { violations } = await new Simulation(seed, steps, plant).run();
  return violations.some((violation) => violation.startsWith(`${plant.breaks}:`));
}

async function soonestOf(name: string, plant: Plant): Promise<Start> {
  for (const steps of DRAWN_STEPS) {
    for (let seed = 1; seed <= DRAWN_SEEDS; seed++) {
      if (await finds(plant, { seed, steps })) {
        return { seed, steps };
      }
    }
  }
  throw new Error(`No seed finds that ${name}. Mend its plant, or the check of ${plant.breaks}.`);
}

/** Draws a seed for each planted fault that its named seed no longer finds. Takes minutes; writes each one at once. */
export async function drawSoonest(): Promise<void> {
  const named = existsSync(FILE) ? readSoonest() : {};
  for (const [name, plant] of Object.entries(plants)) {
    const before = named[name];
    if (before && (await finds(plant, before))) {
      continue;
    }
    const { seed, steps } = (named[name] = await soonestOf(name, plant));
    write(named);
    console.log(`${name}: seed ${seed}, ${steps} steps`);
  }
}

/** Writes the seeds in the order of the faults, and leaves out faults that are gone. */
function write(named: Readonly<Record<string, Start>>): void {
  const lines = Object.keys(plants)
    .filter((name) => named[name])
    .map((name) => `  ${JSON.stringify(name)}: { "seed": ${named[name]!.seed}, "steps": ${named[name]!.steps} }`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}
