// The command `npm run simulate`: which seeds it runs, and how to repeat a find.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from '@jest/globals';
import { bundle } from '../../test/support/bundle.mjs';
import { someOf } from '../../test/support/run/samples.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The command in one file, which starts in half the time. */
let program: string;
beforeAll(async () => {
  program = await bundle('tools/simulate/main.ts', '.cache/programs/simulate.mjs');
}, 60_000);

/** Runs the command, past npm. `preload` is code that runs before it. */
function simulate(args: string[], preload = '', file = program, imports: string[] = []) {
  const argv = [...imports, `--import=data:text/javascript,${encodeURIComponent(preload)}`, file, ...args];
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, argv, { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

it('starts no further seed after its seconds', async () => {
  const { code, stdout } = await simulate(['--seed', '3', '--seeds', '1000', '--seconds', '0', '--steps', '5']);
  expect(stdout).toMatch(/^seed 3: 5 steps, .*: 0 violations\nran 1 of 1000 seeds from 3 on in /);
  expect(code).toBe(0);
});

it('prints each seed, fails on a violation, and prints the command that repeats it', async () => {
  const plant = 'a retry forgets the steps';
  const { code, stdout } = await simulate(['--seeds', '2', '--steps', '60', '--plant', plant]);
  expect(stdout.match(/^seed \d+: 60 steps/gm)).toEqual(['seed 1: 60 steps', 'seed 2: 60 steps']);
  const [, seed] = /^seed (\d+): .* violations\n {2}step: /m.exec(stdout) ?? [];
  expect(stdout).toContain(`  again: npm run simulate -- --seed ${seed} --steps 60 --plant '${plant}'\n`);
  expect(code).toBe(1);
});

/** Runs that break off: what the command gets, its exit code, and what it says beside the seed. */
const BROKEN: [how: string, run: () => ReturnType<typeof simulate>, code: number, said: string][] = [
  [
    'throws',
    () =>
      simulate(
        ['--seed', '5', '--steps', '5'],
        "const { UTC } = Date; Date.UTC = (year, ...rest) => { if (year === 2030) throw new Error('no date'); return UTC(year, ...rest); };",
      ),
    1,
    'no date',
  ],
  [
    'waits for ever',
    () => {
      const simulation = JSON.stringify(new URL('simulation.ts', import.meta.url).href);
      return simulate(
        ['--seed', '5', '--steps', '5'],
        `const { Simulation } = await import(${simulation}); Simulation.prototype.run = () => new Promise(() => undefined);`,
        'tools/simulate/main.ts',
        ['--import=./tools/chaos/register.mjs'],
      );
    },
    13,
    '',
  ],
];

it.each(someOf(BROKEN, 2))(
  'names the seed of a run that %s, and the command that repeats it',
  async (_, run, expected, said) => {
    const { code, stdout, stderr } = await run();
    expect(stdout).toMatch(/^seed 5: /);
    expect(stderr).toContain(said);
    expect(stderr).toContain('  again: npm run simulate -- --seed 5 --steps 5\n');
    expect(code).toBe(expected);
  },
);

it('says what it takes, and which option it does not know', async () => {
  const help = await simulate(['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(
    /^Usage: npm run simulate -- \[options\]\n\n {2}--seed … +the first seed \(1\)\n[^]*--help/,
  );
  const { code, stderr } = await simulate(['--sed', '1']);
  expect(stderr).toMatch(/^simulate: Unknown option '--sed'.*See npm run simulate -- --help\.\n$/s);
  expect(code).toBe(2);
});

it('refuses an option that is no number', async () => {
  const { code, stderr } = await simulate(['--steps', 'many']);
  expect(stderr).toBe('--steps: expected a number, found "many".\n');
  expect(code).toBe(2);
});
