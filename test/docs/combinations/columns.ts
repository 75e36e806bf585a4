// The columns of the tables "what happens": what is done to a job while it runs, and while it waits.
import { expect } from '@jest/globals';
import { HOUR, TIME_RUNS_OUT, WORKER_PAUSED } from './rows.js';
import type { Scene } from './scene.js';

export type Columns = Record<string, (scene: Scene) => Promise<string>>;

export const WHILE_IT_RUNS: Columns = {
  'it runs': async (scene) => {
    await scene.claimed();
    return scene.seen();
  },
  completes: async (scene) => {
    await scene.run();
    await scene.stage.complete();
    return scene.seen();
  },
  'an attempt fails': async (scene) => {
    await scene.run();
    await scene.stage.fail(false);
    return scene.seen();
  },
  [TIME_RUNS_OUT]: async (scene) => {
    await scene.run();
    await scene.stage.timeOut();
    return scene.seen();
  },
  'a checkpoint, then an attempt fails': async (scene) => {
    await scene.run();
    await scene.stage.checkpoint(7);
    await scene.stage.fail(false);
    const { checkpoint } = await scene.stage.state.job(scene.id);
    return `${await scene.seen()}; checkpoint ${checkpoint === '7' ? 'kept' : 'lost'}`;
  },
  'fails for good': async (scene) => {
    await scene.run();
    await scene.stage.fail(true);
    return scene.seen();
  },
  'a snooze': async (scene) => {
    await scene.run();
    await scene.stage.snooze(HOUR);
    return scene.seen();
  },
  'meets a rate limit': async (scene) => {
    await scene.run();
    await scene.stage.meetLimit(HOUR);
    return scene.seen();
  },
  'a shutdown gives it back': async (scene) => {
    await scene.claimed();
    await scene.stage.shutDown();
    return scene.seen();
  },
  'its worker dies': async (scene) => {
    await scene.claimed();
    await scene.stage.loseWorker();
    return scene.seen();
  },
  'cancelled while it runs': async (scene) => {
    await scene.run();
    expect(await scene.stage.cancel(scene.id)).toBe('requested');
    await scene.stage.giveUp();
    return scene.seen();
  },
};

export const WHILE_IT_WAITS: Columns = {
  'a pause of the queue': async (scene) => {
    if (scene.row.ahead) {
      await scene.claimed();
      await scene.begin();
      return 'begins all the same';
    }
    await scene.stage.pause();
    await scene.enqueue();
    await scene.becomeDue();
    expect(await scene.stage.queue.claim()).toBeNull();
    const paused = await scene.seen();
    expect(await scene.stage.resume()).toBe(true);
    await scene.stage.running();
    expect((await scene.stage.get(scene.id))!.status).toBe('processing');
    await scene.stage.complete();
    return paused;
  },
  [WORKER_PAUSED]: async (scene) => {
    if (scene.row.ahead) {
      await scene.claimed();
      scene.stage.keepWaiting();
      await scene.givenBack();
      return scene.seen();
    }
    scene.stage.keepWaiting();
    await scene.enqueue();
    await scene.becomeDue();
    await scene.stage.state.run(scene.stage.state.scripts.sweep.promote({ limit: 10 }));
    const paused = await scene.seen();
    scene.stage.claimAgain();
    await scene.begin();
    await scene.stage.complete();
    return paused;
  },
  rescheduled: async (scene) => {
    await scene.waits();
    return moved(scene, await scene.stage.reschedule(scene.id, { delayMs: HOUR }), 'scheduled');
  },
  promoted: async (scene) => {
    await scene.waits();
    return moved(scene, await scene.stage.promote(scene.id), 'pending');
  },
  'another payload': async (scene) => {
    await scene.waits();
    const answer = await scene.stage.update(scene.id, 'newer');
    expect((await scene.stage.get(scene.id))!.payload).toBe(answer === 'updated' ? 'newer' : 'subject');
    return moved(scene, answer, 'updated');
  },
  'another priority': async (scene) => {
    await scene.waits();
    return moved(scene, await scene.stage.setPriority(scene.id, 7), 'updated');
  },
  'run again': async (scene) => {
    await scene.run();
    await scene.stage.complete();
    return moved(scene, await scene.stage.runAgain(scene.id), 'pending');
  },
  'rescheduled to now': async (scene) => {
    await scene.waits();
    return moved(scene, await scene.stage.reschedule(scene.id, { delayMs: 0 }), 'pending');
  },
  'cancelled while it waits': async (scene) => {
    await scene.waits();
    const { ahead } = scene.row;
    expect(await scene.stage.cancel(scene.id)).toBe(ahead ? 'requested' : 'cancelled');
    await (ahead && scene.stage.giveUp());
    return scene.seen();
  },
  removed: async (scene) => {
    await scene.waits();
    return moved(scene, await scene.stage.remove(scene.id), 'removed');
  },
  'a clean': async (scene) => {
    await scene.waits();
    const { status } = (await scene.stage.get(scene.id))!;
    if (status === 'processing') {
      await expect(scene.stage.clean(status as 'pending')).rejects.toThrow('clean status');
      return 'refused';
    }
    expect(await scene.stage.clean(status as 'pending')).toBe(scene.row.options.after ? 2 : 1);
    return scene.seen();
  },
  'a purge': async (scene) => {
    await scene.waits();
    const { ahead, options } = scene.row;
    expect(await scene.stage.purge()).toBe(ahead ? 3 : options.after ? 2 : 1);
    return scene.seen();
  },
  discarded: async (scene) => {
    await scene.run();
    await scene.stage.fail(true);
    expect(await scene.stage.deadLetters.discard(scene.id)).toBe(true);
    return scene.seen();
  },
  redriven: async (scene) => {
    await scene.run();
    await scene.stage.fail(true);
    expect(await scene.stage.deadLetters.redrive(scene.id, { payload: 'edited' })).toBe(true);
    expect((await scene.stage.get(scene.id))!.payload).toBe('edited');
    return scene.seen();
  },
  'redriven, then replaced': async (scene) => {
    const { typed = false } = scene.row;
    const { after: _, ...options } = scene.row.options; // refused beside unique
    await scene.run();
    await scene.stage.fail(true);
    expect(await scene.stage.deadLetters.redrive(scene.id)).toBe(true);
    const unique = { ...(options.unique ?? { key: 'k', for: 'pending' }), onConflict: 'replace' } as const;
    const { outcome } = await scene.stage.enqueue('newer', { ...options, unique }, typed);
    const { payload } = (await scene.stage.get(scene.id))!;
    expect(payload).toBe(outcome === 'replaced' ? 'newer' : 'subject');
    return outcome === 'replaced' ? `replaced: ${await scene.seen()}` : 'stays';
  },
};

/** Returns the outcome of a move that is possible only while the job is unclaimed. */
function moved(scene: Scene, answer: string, expected: string): Promise<string> | string {
  if (answer === expected) {
    return scene.seen();
  }
  expect(['processing', 'refused']).toContain(answer);
  return 'refused';
}
