/** @jest-environment ./test/support/own-environment.mjs */
import { beforeEach, expect, it, jest } from '@jest/globals';
import { SafeLogger } from '#queue/errors/safe-logger.js';
import { DeadWorkers } from '#processes/worker-processes.js';
import type { ServingWorker } from '#processes/messages.js';
import type { WorkerProcess } from '#processes/worker-process.js';

const WORKER = { id: 'host:1:abc', queues: ['email'] };
const warnings: unknown[] = [];
const logger = SafeLogger.of({
  log: () => undefined,
  warn: (message: unknown) => void warnings.push(message),
  error: () => undefined,
});

/** A process that notes its requests. */
class Sibling {
  state = 'running';
  readonly asked: string[] = [];

  reclaim({ id }: ServingWorker): void {
    this.asked.push(id);
  }
}

let one: Sibling;
let other: Sibling;
let dead: DeadWorkers;
const processOf = (sibling: Sibling) => sibling as unknown as WorkerProcess;

beforeEach(() => {
  jest.useFakeTimers();
  warnings.length = 0;
  [one, other] = [new Sibling(), new Sibling()];
  dead = new DeadWorkers(() => [processOf(one), processOf(other)], logger);
});

it('the parent asks one running process, once', () => {
  dead.add(processOf(new Sibling()), [WORKER]);
  dead.assign();
  dead.reclaimed(processOf(one), WORKER.id, undefined);
  jest.advanceTimersByTime(120_000);
  dead.assign();
  expect([one.asked, other.asked]).toEqual([[WORKER.id], []]);
});

it('the parent waits for a process that runs, and asks no process that is disconnected or stops', () => {
  one.state = 'disconnected';
  other.state = 'stopping';
  dead.add(processOf(new Sibling()), [WORKER]);
  expect([one.asked, other.asked]).toEqual([[], []]);
  one.state = 'running';
  dead.assign();
  expect(one.asked).toEqual([WORKER.id]);
});

it('the parent asks another process when the asked one ends', () => {
  dead.add(processOf(new Sibling()), [WORKER]);
  one.state = 'waiting';
  dead.add(processOf(one), [{ id: 'host:2:def', queues: [] }]);
  expect(other.asked).toEqual([WORKER.id, 'host:2:def']);
});

it('the parent asks again a second after a failure, and says why', () => {
  dead.add(processOf(new Sibling()), [WORKER]);
  dead.reclaimed(processOf(one), WORKER.id, 'no reply');
  expect(one.asked).toHaveLength(1);
  jest.advanceTimersByTime(1_000);
  expect(one.asked).toHaveLength(2);
  expect(warnings).toEqual([expect.stringMatching(/host:1:abc.*no reply/)]);
});

it('the parent asks again without a reply in 30 s, and ignores a late one of a process that is no longer asked', () => {
  dead.add(processOf(new Sibling()), [WORKER]);
  one.state = 'disconnected';
  jest.advanceTimersByTime(30_000);
  expect(other.asked).toEqual([WORKER.id]);
  dead.reclaimed(processOf(one), WORKER.id, undefined);
  other.state = 'waiting';
  one.state = 'running';
  dead.add(processOf(other), []);
  expect(one.asked).toHaveLength(2);
});
