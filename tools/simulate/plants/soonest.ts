// The seed that finds each planted fault soonest. `npm run simulate -- --draw` draws those anew that no longer do.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Simulation } from '../simulation.js';
import type { Plant } from './plant.js';
import { plants } from './plants.js';

export interface Start {
  seed: number;
  steps: number;
}

/** The steps and the number of seeds that a draw tries, the shortest runs first. */
const DRAWN_STEPS = [60, 200, 500, 1_500];
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

/** Draws a seed for each planted fault that its named seed no longer finds, and writes them. Takes minutes for all. */
export async function drawSoonest(): Promise<void> {
  const before = existsSync(FILE) ? readSoonest() : {};
  const lines: string[] = [];
  for (const [name, plant] of Object.entries(plants)) {
    const named = before[name];
    const isFound = named !== undefined && (await finds(plant, named));
    const { seed, steps } = isFound ? named : await soonestOf(name, plant);
    lines.push(`  ${JSON.stringify(name)}: { "seed": ${seed}, "steps": ${steps} }`);
    console.log(`${name}: ${isFound ? 'as before' : `seed ${seed}, ${steps} steps`}`);
  }
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}
