// A name that no live worker handles is logged once, a while after its first enqueue.
import { afterEach, describe, expect, it } from '@jest/globals';
import { UnservedWatch } from '#queue/enqueue/unserved-watch.js';
import { connect } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const watches: UnservedWatch[] = [];

afterEach(() => watches.splice(0).forEach((watch) => watch.close()));

/** A queue whose warnings are kept, and a watch that looks soon. */
function watched() {
  const queue = newQueue({}, connect());
  const warnings: string[] = [];
  inside(queue).connection.logger = { log() {}, error() {}, warn: (text) => void warnings.push(text) };
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

describe('a name that no live worker handles', () => {
  it('is logged once, with the job and what to do', async () => {
    const { queue, warnings, add } = watched();
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
    const { queue, warnings, add } = watched();
    await startWorker([{ queue, handlers: { email: () => 'sent' } }]);
    await add('email');
    await add('emial');
    inside(queue).connection.logger = { log() {}, error() {}, warn: (text) => void warnings.push(text) };
    await looked(warnings, 'emial');
    const said = warnings.filter((text) => text.startsWith('No live worker'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('Live workers of the queue: 1; they handle "email".');
  });

  it('is not logged where a client took the job meanwhile', async () => {
    const { queue, warnings, add } = watched();
    await add('taken');
    await queue.complete((await queue.claim())!);
    await add('emial');
    await looked(warnings, 'emial');
    expect(warnings).toHaveLength(1);
  });
});
