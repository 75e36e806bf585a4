// The scripts of the doctor, for a queue of a test.
import { testQueue } from '../../support/queue/queue-state.js';

export function examined() {
  const q = testQueue();
  return { q, doctor: q.scripts.doctor };
}
