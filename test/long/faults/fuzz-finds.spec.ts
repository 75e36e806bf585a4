// The fuzz of options finds each planted fault by its seed, and no fault without a plant.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { PLANTS } from '../../../tools/fuzz/plants.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function fuzz(...args: string[]): Promise<{ code: number; output: string }> {
  const command = ['--import', './tools/chaos/register.mjs', 'tools/fuzz/main.ts', ...args];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root });
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, output: stdout };
  }
}

it.each(Object.entries(PLANTS))(
  'finds %s',
  async (name, { seed }) => {
    const { code, output } = await fuzz('--seed', `${seed}`, '--rounds', '1', '--plant', name);
    expect([code, output]).toEqual([
      1,
      expect.stringContaining(`again: npm run fuzz -- --seed ${seed} --rounds 1`),
    ]);
  },
  300_000,
);

it('finds nothing by the same seeds without a plant', async () => {
  for (const seed of new Set(Object.values(PLANTS).map((each) => each.seed))) {
    expect(await fuzz('--seed', `${seed}`, '--rounds', '1')).toMatchObject({ code: 0 });
  }
}, 600_000);
