// What a worker sends, and in which order, where the test says when each trip is answered.
import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '../../src/queue/job.js';
import type { ScriptCall, Settled } from '../../src/queue/script-runner.js';
import { FetchLoop } from '../../src/worker/fetch-loop.js';
import { Lane } from '../../src/worker/lane.js';
import type { Transport } from '../../src/worker/transport.js';
import { coreQueue } from '../support/core-queue.js';

const tickEnds = () => new Promise((resolve) => setImmediate(resolve));

/** A worker with one slot, whose trips the test answers. */
async function workerOfOne() {
  const { queue } = coreQueue();
  const log: string[] = [];
  const answers: ((answer: unknown) => void)[] = [];
  const carry = ([call]: ScriptCall<unknown>[]) => {
    const id = call!.script === 'complete' ? ` of ${call!.args[7]}` : '';
    log.push(call!.script + id);
    return new Promise<Settled<unknown>[]>((resolve) => answers.push((answer) => resolve([{ ok: true, answer }])));
  };
  const observer = { changed: () => {}, emit: undefined, hold: () => {}, warn: () => {} };
  const handle = ({ id }: { id: string }) => void log.push(`run ${id}`);
  const lane = new Lane(queue, await queue.scripts(), 1, 0, new Map([['mail', { handle }]]), observer);
  const transport = { carry } as unknown as Transport;
  const logger = { log: () => {}, warn: () => {}, error: () => {} };
  const look = () => loop.depart();
  const loop = new FetchLoop(
    'w',
    [lane],
    () => Infinity,
    transport,
    logger,
    () => process.nextTick(look),
  );
  const answerClaim = (trip: number, id: string) =>
    answers[trip]!({ jobs: [claimed(id)], refused: [], nextDueInMs: undefined });
  return { lane, log, answerClaim, answerCompletion: (trip: number) => answers[trip]!([]), start: look };
}

function claimed(id: string) {
  return { id, name: 'mail', queue: 'mail', token: 't', fence: 1, attempt: 1, options: {} } as ClaimedJob;
}

it('claims the next job before it settles the last, and does not wait for that settlement', async () => {
  const { log, answerClaim, start } = await workerOfOne();
  start();
  answerClaim(0, 'a');
  await tickEnds();
  answerClaim(1, 'b');
  await tickEnds();
  expect(log).toEqual(['claim', 'run a', 'claim', 'complete of a', 'run b', 'claim']);
});

it('sends the end of a job before the next begins, which may crash or keep the process', async () => {
  const { log, answerClaim, answerCompletion, start } = await workerOfOne();
  start();
  answerClaim(0, 'a');
  await tickEnds();
  answerClaim(1, 'b');
  await tickEnds();
  answerCompletion(2); // of a, and in the same tick the next claim
  answerClaim(3, 'c');
  await tickEnds();
  expect(log.slice(6, 8)).toEqual(['complete of b', 'run c']);
});

it('gives back before it claims, since that comes first in the queue', async () => {
  const { lane, log, start } = await workerOfOne();
  lane.outbox.releases.push({
    settlement: { id: 'a', token: 't', fence: 1, reason: 'interruption', delayMs: 0 },
  });
  start();
  expect(log).toEqual(['release', 'claim']);
});
