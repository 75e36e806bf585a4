import { expect, it, jest } from '@jest/globals';
import { DyingWorkers } from '../../support/worker/dying-workers.js';

jest.setTimeout(580_000);

const ROUNDS = 50;

/** A hang takes two seconds, and the start of the next process as long. */
const HANGS = 20;

/** Returns the value below which 95 of 100 are. */
function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1]!;
}

it('the ten jobs of a killed process run again within a second of its end, in a sibling with free slots', async () => {
  const fleet = new DyingWorkers();
  await fleet.start({ longestRestartDelayMs: 10 });
  await fleet.fill();
  await fleet.workers.resize(2);
  const tookMs: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await fleet.allRun();
    const [pid] = await fleet.pids();
    const { name } = fleet.workers.status().find((each) => each.pid === pid)!;
    tookMs.push(await fleet.kill(name));
  }
  expect(p95(tookMs)).toBeLessThan(1_000);
});

it('without a sibling they run again within a second of the connection of its successor', async () => {
  const fleet = new DyingWorkers();
  await fleet.start({ longestRestartDelayMs: 10 });
  await fleet.fill();
  const tookMs: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await fleet.allRun();
    const connected = fleet.running();
    const deadPid = fleet.pidOf('worker-1')!;
    process.kill(deadPid, 'SIGKILL');
    tookMs.push(await fleet.msUntilAgain(await connected, 10, deadPid));
  }
  expect(p95(tookMs)).toBeLessThan(1_000);
});

it('so do the jobs of a process that its supervisor kills because it hangs', async () => {
  const fleet = new DyingWorkers();
  await fleet.start({ hangTimeoutMs: 2_000, longestRestartDelayMs: 10 });
  await fleet.fill(9);
  await fleet.workers.resize(2);
  const tookMs: number[] = [];
  for (let i = 0; i < HANGS; i++) {
    await fleet.allRun();
    const [hung] = (await fleet.pids()) as [number];
    const ended = fleet.ended(hung);
    process.kill(hung, 'SIGSTOP'); // answers nothing, as a blocked event loop
    tookMs.push(await fleet.msUntilAgain(await ended, 9, hung));
  }
  expect(p95(tookMs)).toBeLessThan(1_000);
});
