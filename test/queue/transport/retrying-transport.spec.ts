// What a worker says while Redis does not answer, and how many connections it waits on.
import { expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { RedisClient } from '#queue/redis/redis-client.js';
import type { ScriptCall, ScriptRunner } from '#queue/transport/script-runner.js';
import type { Settled } from '#queue/store/queue-store.js';
import { RetryingTransport } from '#queue/transport/retrying-transport.js';
import { eventually } from '../../support/faults/wait.js';

const call = {} as ScriptCall<unknown>;

/** A transport whose client has the given status, and whose server answers what the test says. */
function transportOf(status: string, answer: () => Settled<unknown>) {
  const client = Object.assign(new EventEmitter(), { isCluster: false, status });
  const warnings: string[] = [];
  const logger = { log: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };
  const runTogether = async (calls: unknown[]) => calls.map(answer);
  const runner = { runTogether } as unknown as ScriptRunner;
  return { client, warnings, transport: new RetryingTransport(client as unknown as RedisClient, runner, logger) };
}

it('says once what ends the trips of many queues, and again when it ends them again', async () => {
  const busy = { ok: false, error: Object.assign(new Error('BUSY'), { name: 'ReplyError' }) } as const;
  let asked = 0;
  const { transport, warnings } = transportOf('ready', () => {
    asked++;
    return asked <= 40 ? busy : { ok: true, answer: 'done' };
  });
  await Promise.all(Array.from({ length: 20 }, () => transport.carry([call])));
  expect(asked).toBe(60);
  expect(warnings).toEqual(Array(2).fill("Redis did not answer a worker's trip (BUSY); it is sent again."));
});

it('says once that the connection is lost, and waits for it once, however many trips do', async () => {
  const { transport, client, warnings } = transportOf('ready', () => ({ ok: true, answer: 'done' }));
  await transport.carry([call]);
  client.status = 'reconnecting';
  const trips = Promise.all(Array.from({ length: 20 }, () => transport.carry([call])));
  expect([client.listenerCount('ready'), warnings.length]).toEqual([1, 1]);
  client.status = 'ready';
  client.emit('ready');
  expect(await trips).toHaveLength(20);
  await eventually(() => client.listenerCount('ready') === 0);
});
