// A thousand short fleets with different starts. They run in a separate process, which takes half the time.
import { spawn, type ChildProcess } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from '@jest/globals';

const SEEDS = 1_000;
const STEPS = 50;
/** At least this many of them have a kill, a freeze or a deploy. */
const WITH_FAULTS = 900;

let child: ChildProcess | undefined;

afterAll(() => void child?.kill());

it(`keeps the invariants, ${SEEDS} seeds of ${STEPS} steps`, async () => {
  const args = ['tools/simulate/main.ts', '--seeds', String(SEEDS), '--steps', String(STEPS)];
  const running = spawn(process.execPath, ['--import', './test/support/typescript.mjs', ...args], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = running;
  const lines = (await text(running.stdout)).trimEnd().split('\n');
  expect(lines.filter((line) => !line.endsWith(' 0 violations'))).toEqual([]);
  expect(lines).toHaveLength(SEEDS);
  const calm = lines.filter((line) => line.includes(' 0 kills, 0 freezes, 0 deploys,'));
  expect(SEEDS - calm.length).toBeGreaterThan(WITH_FAULTS);
}, 600_000);
