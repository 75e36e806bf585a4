// One verb is one script, one row of its name, and one spec of its name (test/lua/headers.spec.ts).
import { expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';
import { VERBS } from '#queue/verbs/table.js';
import { rowsIn, type Verb } from '#queue/verbs/verb.js';

/** The rows that do not have the name of their script. */
const OTHER_NAME: Record<string, string> = {
  cancelAndReturn: 'job/cancel with a request id',
  change: 'limits/set of some limits',
  download: 'profile/read with its content',
  get: 'schedule/list of one schedule',
  lookDrained: 'queue/publish-drained that only looks at a shard',
  named: 'group/list of some groups',
  reportVersion: 'history/close-minute before the minute is over',
};

/** The scripts without a row, besides those of src/migrate. */
const NO_ROW: Record<string, string> = {
  attemptClaimLimited: 'claim sends it, if jobs have costs of their own',
  auditFrame: 'wraps the other scripts; see audited-script.ts',
  jobEnqueueNewest: 'enqueue sends it for jobs that may end older ones',
  queueCheckKeys: 'transport/wrong-keys.ts sends it, after the error of any call',
  queueCheckPermissions: 'asks Redis about the permissions of its user; see preparation.ts',
  queueLook: 'of many queues; see queues-calls.ts',
  registerAdd: 'of all queues of a Redis; see src/queue/register',
  registerNames: 'of all queues of a Redis; see src/queue/register',
  sweepNoteIdle: 'of many queues; see queues-calls.ts',
  workerRenew: 'of many queues; see queues-calls.ts',
};

const scripts = rowsIn(VERBS).filter(({ script }) => script in luaScripts);

it('has a row for each script, but for those with a reason', () => {
  const named = scripts.map(({ script }) => script);
  const others = Object.keys(luaScripts).filter(
    (script) => !named.includes(script) && !script.startsWith('migrate'),
  );
  expect(others).toEqual(Object.keys(NO_ROW));
});

it('names each row as its script, but for those with a reason', () => {
  const rows = Object.values(VERBS).flatMap((each) => ('bind' in each ? [] : Object.entries<Verb<unknown>>(each)));
  const own = Object.entries<object>(VERBS).filter((entry): entry is [string, Verb<unknown>] => 'bind' in entry[1]);
  const others = [...own, ...rows].filter(
    ([name, { script }]) => script in luaScripts && !script.endsWith(name[0]!.toUpperCase() + name.slice(1)),
  );
  expect(others.map(([name]) => name).toSorted()).toEqual(Object.keys(OTHER_NAME));
});
