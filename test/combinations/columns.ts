// The columns of the table "what happens to a job with an option": what is done to the job.
import { expect } from '@jest/globals';
import { HOUR } from './rows.js';
import type { Scene } from './scene.js';

export const COLUMNS: Record<string, (scene: Scene) => Promise<string>> = {
  'an attempt fails': async (scene) => {
    await scene.run();
    await scene.stage.fail(false);
    return scene.seen();
  },
  'its worker dies': async (scene) => {
    await scene.run();
    await scene.stage.loseWorker();
    return scene.seen();
  },
  'a shutdown gives it back': async (scene) => {
    await scene.run();
    await scene.stage.shutDown();
    return scene.seen();
  },
  'a snooze': async (scene) => {
    await scene.run();
    await scene.stage.snooze(HOUR);
    return scene.seen();
  },
  'a pause of the queue': async (scene) => {
    await scene.stage.pause();
    await scene.enqueue();
    await scene.becomeDue();
    expect(await scene.stage.queue.claim()).toBeNull();
    const paused = await scene.seen();
    expect(await scene.stage.resume()).toBe(true);
    await scene.stage.running();
    expect((await scene.stage.queue.get(scene.id))!.status).toBe('processing');
    await scene.stage.complete();
    return paused;
  },
  'cancelled while it waits': async (scene) => {
    scene.stage.keepWaiting();
    await scene.enqueue();
    expect(await scene.stage.cancel(scene.id)).toBe('cancelled');
    return scene.seen();
  },
  'cancelled while it runs': async (scene) => {
    await scene.run();
    expect(await scene.stage.cancel(scene.id)).toBe('requested');
    await scene.stage.giveUp();
    return scene.seen();
  },
  rescheduled: async (scene) => {
    scene.stage.keepWaiting();
    await scene.enqueue();
    expect(await scene.stage.queue.reschedule(scene.id, { delayMs: HOUR })).toBe('scheduled');
    return scene.seen();
  },
  'promoted now': async (scene) => {
    scene.stage.keepWaiting();
    await scene.enqueue();
    expect(await scene.stage.queue.reschedule(scene.id, { delayMs: 0 })).toBe('pending');
    return scene.seen();
  },
  completes: async (scene) => {
    await scene.run();
    await scene.stage.complete();
    return scene.seen();
  },
  'fails for good': async (scene) => {
    await scene.run();
    await scene.stage.fail(true);
    return scene.seen();
  },
  redriven: async (scene) => {
    await scene.run();
    await scene.stage.fail(true);
    expect(await scene.stage.deadLetters.redrive(scene.id, { payload: 'edited' })).toBe(true);
    expect((await scene.stage.queue.get(scene.id))!.payload).toBe('edited');
    return scene.seen();
  },
  'redriven, then replaced': async (scene) => {
    const { options, typed = false } = scene.row;
    await scene.run();
    await scene.stage.fail(true);
    expect(await scene.stage.deadLetters.redrive(scene.id)).toBe(true);
    const unique = { ...(options.unique ?? { key: 'k', for: 'pending' }), onConflict: 'replace' } as const;
    const { outcome } = await scene.stage.enqueue('newer', { ...options, unique }, typed);
    const { payload } = (await scene.stage.queue.get(scene.id))!;
    expect(payload).toBe(outcome === 'replaced' ? 'newer' : 'subject');
    return outcome === 'replaced' ? `replaced: ${await scene.seen()}` : 'stays';
  },
  removed: async (scene) => {
    scene.stage.keepWaiting();
    await scene.enqueue();
    expect(await scene.stage.queue.remove(scene.id)).toBe('removed');
    return scene.seen();
  },
};
