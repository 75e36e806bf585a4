import type { Worker } from '#worker/worker.js';

/** The part of a worker that announces it. */
interface Announcing {
  reports: { registration: { announcedAtMs: Map<object, number>; runOnce(): Promise<void> } };
}

/** Lets a worker announce itself again, which is when it learns of a request for a profile. */
export async function learn(worker: Worker): Promise<void> {
  const { registration } = (worker as unknown as Announcing).reports;
  registration.announcedAtMs.clear();
  await registration.runOnce();
}
