// What a worker says while Redis does not answer, and how many connections it waits on.
import { expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { InterruptibleWait } from '#queue/runtime/waits.js';
import { ReplyDecodeError, ScriptRunner, type ScriptCall } from '#queue/transport/script-runner.js';
import { RetryingTransport } from '#queue/transport/retrying-transport.js';
import { eventually } from '../../support/faults/wait.js';

const call: ScriptCall<string> = { script: 'queueStats', keys: [], args: [], decode: String };

function decode(): string {
  throw new TypeError('a reply of another call');
}

/** Makes a transport whose client has the given status, and whose server replies as the test says. */
function transportOf(status: Redis['status'], answer: () => Promise<string>, ownTripMs?: number) {
  const client = new Redis({ lazyConnect: true });
  client.status = status;
  jest.spyOn(client, 'sendCommand').mockImplementation(answer);
  const warnings: string[] = [];
  const logger = { log: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };
  return {
    client,
    warnings,
    transport: new RetryingTransport(client, new ScriptRunner(client), logger, ownTripMs),
  };
}

it('logs an error that ends the trips of many queues once, and again when it repeats', async () => {
  const busy = Object.assign(new Error('BUSY'), { name: 'ReplyError' });
  let asked = 0;
  const { transport, warnings } = transportOf('ready', async () => {
    asked++;
    if (asked <= 40) throw busy;
    return 'done';
  });
  await Promise.all(Array.from({ length: 20 }, () => transport.carry([call])));
  expect(asked).toBe(60);
  expect(warnings).toEqual(
    Array(2).fill(
      'Redis did not answer a call of a worker (BUSY); sending it again. If this repeats, check Redis and the network.',
    ),
  );
});

it('waits longer after each error, but never longer than a second', async () => {
  const busy = Object.assign(new Error('BUSY'), { name: 'ReplyError' });
  const pauses: number[] = [];
  const wait = jest.spyOn(InterruptibleWait.prototype, 'wait').mockImplementation(async (ms) => {
    pauses.push(ms);
    return false;
  });
  const { transport } = transportOf('ready', async () => {
    if (pauses.length < 7) throw busy;
    return 'done';
  });
  expect(await transport.carry([call])).toEqual([{ ok: true, reply: 'done' }]);
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
  wait.mockRestore();
});

it('says once that the connection is lost, and waits for it once, however many trips do', async () => {
  const { transport, client, warnings } = transportOf('ready', async () => 'done');
  expect(await transport.carry([call])).toEqual([{ ok: true, reply: 'done' }]);
  client.status = 'reconnecting';
  const trips = Promise.all(Array.from({ length: 20 }, () => transport.carry([call])));
  expect([client.listenerCount('ready'), warnings.length]).toEqual([1, 1]);
  client.status = 'ready';
  client.emit('ready');
  expect(await trips).toHaveLength(20);
  await eventually(() => client.listenerCount('ready') === 0);
});

it('waits for the connection again, and says so, each time it is lost', async () => {
  const { transport, client, warnings } = transportOf('ready', async () => 'done');
  await transport.carry([call]);
  for (let loss = 1; loss <= 2; loss++) {
    client.status = 'reconnecting';
    const trip = transport.carry([call]);
    expect(client.listenerCount('ready')).toBe(1);
    client.status = 'ready';
    client.emit('ready');
    expect(await trip).toEqual([{ ok: true, reply: 'done' }]);
    expect(warnings).toEqual(Array(loss).fill(expect.stringContaining('The connection to Redis is lost')));
  }
});

it('gives a call whose reply cannot be decoded an error with the name of its script, and does not send it again', async () => {
  let asked = 0;
  const { transport } = transportOf('ready', async () => String(++asked));
  const [outcome, other] = await transport.carry([{ ...call, decode }, call]);
  expect(outcome).toEqual({ ok: false, error: expect.any(ReplyDecodeError) });
  expect(outcome).toMatchObject({ error: { message: expect.stringContaining('queueStats') } });
  expect([other, asked]).toEqual([{ ok: true, reply: '2' }, 2]);
});

it('sends nothing again once it is closed, because a claim would take jobs that no worker runs', async () => {
  const busy = Object.assign(new Error('BUSY'), { name: 'ReplyError' });
  let asked = 0;
  const { transport, warnings } = transportOf('ready', async () => {
    asked++;
    throw busy;
  });
  const trip = transport.carry([call]);
  await eventually(() => warnings.length === 1);
  transport.close();
  expect(await trip).toEqual([{ ok: false, error: busy }]);
  expect(asked).toBe(1);
});

it('replaces a connection of its own that does not reply to a trip, and sends the trip again', async () => {
  let asked = 0;
  const answer = async () => (++asked === 1 ? new Promise<string>(() => undefined) : 'done');
  const { transport } = transportOf('ready', answer, 20);
  const replace = jest.spyOn(transport, 'replaceConnection').mockReturnValue(undefined);
  expect(await transport.carry([call])).toEqual([{ ok: true, reply: 'done' }]);
  expect(replace).toHaveBeenCalledTimes(1);
});
