// Runs the files that take longest before all others. Otherwise one of them runs alone at the end, beside an idle core.
// Jest itself sorts by the durations of earlier runs, but a fresh clone, such as CI's, has none.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Sequencer from '@jest/test-sequencer';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The files that take five CPU seconds or more, with their processes, or wait for twenty seconds. */
const LONGEST = [
  'test/security/matrix.spec.ts',
  'test/queue/validation/secret-options.spec.ts',
  'test/docs/combinations/what-happens.spec.ts',
  'tools/simulate/simulate.spec.ts',
  'test/cli/topologies.spec.ts',
  'test/nest/lifecycle/start-faults.spec.ts',
  'test/docs/app/recipe-failures.spec.ts',
  'test/outbox/kills.spec.ts',
  'test/security/fields.spec.ts',
  'test/nest/handlers/threads.spec.ts',
  'test/outbox/injection.spec.ts',
  'test/codemod/codemod.spec.ts',
  'test/security/outsize-scripts.spec.ts',
  'test/nest/lifecycle/boot-audit.spec.ts',
  'test/outbox/clients.spec.ts',
  'tools/simulate/main.spec.ts',
  'tools/simulate/plants/plants.spec.ts',
  'test/worker/runner/fairness.spec.ts',
  'test/security/hidden.spec.ts',
  'test/queue/batches/races.spec.ts',
  'test/security/hostile-keys.spec.ts',
  'test/security/dashboard.spec.ts',
  'test/cli/cli.spec.ts',
  'test/dashboard/dashboard.e2e.spec.ts',
  'test/queue/redis/cluster-events.spec.ts',
  'test/processes/topics.spec.ts',
  'test/model/both-stores.spec.ts',
  'test/inspect/incident.spec.ts',
  'test/nest/service/spread-features.spec.ts',
  'test/worker/attempt/asked-profile.spec.ts',
  'test/cli/outage.spec.ts',
  'test/nest/context/async-context.spec.ts',
  'test/queue/operate/audit-trail.spec.ts',
  'test/worker/attempt/full-redis.spec.ts',
  'test/dashboard/jobs/any-record.e2e.spec.ts',
  'test/cli/mcp/mcp.spec.ts',
  'test/nest/connection/several-servers.spec.ts',
  'tools/simulate/topics.spec.ts',
  'test/queue/doctor/doctor-random.spec.ts',
  'test/lua/group/turns/interleavings.spec.ts',
  'test/lua/limits/rates.spec.ts',
].map((file) => root + file);

const gone = LONGEST.filter((file) => !existsSync(file));
if (gone.length > 0) throw new Error(`longest-first: expected files, found none at ${gone.join(', ')}`);

/** Returns the place of a file in the run; those that are not listed share the last. */
function placeOf({ path }) {
  return LONGEST.includes(path) ? LONGEST.indexOf(path) : LONGEST.length;
}

export default class extends Sequencer {
  /** Keeps Jest's own order for the rest: by the durations of earlier runs, or by size. */
  async sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the sequencer, not of an array
    const sorted = await super.sort(tests);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
