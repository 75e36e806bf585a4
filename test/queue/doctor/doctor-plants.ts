// What a fault is that the doctor must find, and jobs to plant one in.
import type { DoctorKind } from '#queue/model/doctor-report.js';
import type { TestQueue } from '../../support/queue/queue-state.js';

/** What the doctor says of a fault. */
interface Finding {
  subject?: string;
  found: string | RegExp;
  expected: string | RegExp;
  /** The place of the job `a` after the repair. */
  after?: string;
}

export interface Planted extends Finding {
  name: string;
  plant: (state: TestQueue) => Promise<unknown>;
  kind: DoctorKind;
}

export function planted(name: string, kind: DoctorKind, finding: Finding, plant: Planted['plant']): Planted {
  return { name, kind, ...finding, plant };
}

export async function claimed(state: TestQueue) {
  return state.addAndClaim('a');
}

export async function completed(state: TestQueue) {
  await state.complete(await claimed(state));
}

export async function failed(state: TestQueue) {
  await state.fail(await claimed(state), { final: true });
}
