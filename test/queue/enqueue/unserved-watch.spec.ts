// A name that no live worker handles is logged once, a while after its first enqueue.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { UnservedWatch } from '#queue/enqueue/producer.js';
import { ScriptStore } from '#memory/script-store.js';
import { Worker } from '#worker/worker.js';
import { connect } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const watches: UnservedWatch[] = [];

afterEach(() => watches.splice(0).forEach((watch) => watch.close()));

const stores = { 'on Redis': () => connect(), 'in memory': () => new ScriptStore() };

/** Makes a queue whose warnings are kept, and a watch with a short delay. */
function watched(newStore: (typeof stores)[keyof typeof stores]) {
  const queue = newQueue({}, newStore());
  const warnings: string[] = [];
  queue.store.logger = { log() {}, error() {}, warn: (text) => void warnings.push(text) };
  const watch = new UnservedWatch(queue, 20);
  watches.push(watch);
  const add = async (name: string) => {
    const { id } = await queue.enqueue({}, { name });
    watch.added(id, name);
    return id;
  };
  return { queue, warnings, add };
}

const looked = (warnings: string[], name: string) =>
  eventually(async () => warnings.some((text) => text.includes(`"${name}"`)), { what: `a warning of ${name}` });

describe.each(Object.entries(stores))('a name that no live worker handles (%s)', (_place, newStore) => {
  it('is logged once, with the job and the remedy', async () => {
    const { queue, warnings, add } = watched(newStore);
    const id = await add('emial');
    await add('emial');
    await looked(warnings, 'emial');
    await add('emial');
    await add('other');
    await looked(warnings, 'other');
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toBe(
      `No live worker handles the name "emial" in queue "${queue.name}": job ${id} waits for one. The queue has no live ` +
        'worker. Check the spelling of the name, or deploy a handler for it.',
    );
  });

  it('is logged with the names that live workers handle; those are not logged', async () => {
    const { queue, warnings, add } = watched(newStore);
    await startWorker([{ queue, handlers: { email: () => 'sent' } }]);
    await queue.pause(); // else the worker may hold a job at the moment of the look
    queue.store.logger = { log() {}, error() {}, warn: (text) => void warnings.push(text) };
    await add('email');
    await add('emial');
    await looked(warnings, 'emial');
    const said = warnings.filter((text) => text.startsWith('No live worker'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('Live workers of the queue: 1; they handle "email".');
  });

  it('is not logged where a client took the job meanwhile', async () => {
    const { queue, warnings, add } = watched(newStore);
    await add('taken');
    await queue.complete((await queue.claim())!);
    await add('emial');
    await looked(warnings, 'emial');
    expect(warnings).toHaveLength(1);
  });

  it('is logged by a process that only enqueues, to the logger of its queue', async () => {
    const warn = jest.fn();
    const queue = newQueue({ logger: { log() {}, error() {}, warn } }, newStore());
    const watch = new UnservedWatch(queue, 20);
    watches.push(watch);
    watch.added((await queue.enqueue({}, { name: 'emial' })).id, 'emial');
    await eventually(() => warn.mock.calls.length === 1, { what: 'a warning' });
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('No live worker handles the name "emial"'));
  });

  it('is not looked for before the workers of a fleet can have started', async () => {
    const { queue } = watched(newStore);
    const delays: number[] = [];
    const clock = {
      setTimeout: (_: unknown, ms: number) => (delays.push(ms), { unref: () => undefined }),
      clear: () => undefined,
    };
    const store = { logger: { log() {}, error() {}, warn() {} }, clock };
    const watch = new UnservedWatch({ name: queue.name, store } as never);
    watch.added('1', 'email');
    watch.close();
    expect(delays).toEqual([60_000]);
  });

  it('is not looked for without a logger', async () => {
    const silent = newQueue({}, newStore());
    const asked = jest.spyOn(silent, 'exec');
    const watch = new UnservedWatch(silent, 0);
    watches.push(watch);
    watch.added('an-id', 'emial');
    const { warnings, add } = watched(newStore);
    await add('emial');
    await looked(warnings, 'emial'); // another watch, which looks later
    expect(asked).not.toHaveBeenCalled();
  });
});

describe('the logger of a queue', () => {
  it('stays where a worker of the same client has none', async () => {
    const lines: string[] = [];
    const queue = newQueue({ logger: { log() {}, error() {}, warn: (text) => void lines.push(text) } }, connect());
    const worker = new Worker([{ queue, handlers: { email: () => 'sent' } }]);
    await worker.start();
    inside(queue).connection.logger.warn('still logged');
    await worker.stop();
    expect(lines).toEqual(['still logged']);
  });

  it.each([null, {}, console.log, { log() {}, warn() {} }])('is refused where it is none: %p', (logger) => {
    expect(() => newQueue({ logger: logger as never }, connect())).toThrow(
      /^queue ".*"\.logger: expected a logger with log, warn and error, found /,
    );
  });
});
