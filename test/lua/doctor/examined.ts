// The scripts of the doctor, for a queue of a test.
import { DoctorCalls } from '#queue/doctor/doctor-calls.js';
import { testQueue } from '../../support/queue/queue-state.js';

export function examined() {
  const q = testQueue();
  return { q, doctor: new DoctorCalls(q.scripts) };
}
