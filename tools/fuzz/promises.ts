// The oracle: what the docs promise of the jobs of a round. Each rule returns what broke it.
import type { JobRecord } from '#queue/model/job.js';
import { type RateLimit, ratesOf } from '#queue/model/limits.js';
import { groupBy } from '#queue/runtime/collections.js';
import type { Planned, Run, Seen } from './round.js';

/** The difference of two clocks of one machine, and the rounding of instants, in ms. */
const ROUNDING_MS = 2;

type Rule = (seen: Seen) => string[];

/** Returns how a job must end, and in how many runs. */
function endOf(
  plan: Planned,
  seen: Seen,
  byId: ReadonlyMap<string, Planned>,
): { status: JobRecord['status']; runs: number } {
  const { expiresInMs = Infinity, after = [], maxAttempts = seen.shape.queue.maxAttempts ?? 10 } = plan.options;
  const isUnmet = after.some((id) => endOf(byId.get(id as string)!, seen, byId).status !== 'completed');
  if (expiresInMs < 1_000 || isUnmet) {
    return { status: 'failed', runs: 0 };
  }
  const { fails } = plan.payload;
  return fails >= maxAttempts ? { status: 'failed', runs: maxAttempts } : { status: 'completed', runs: fails + 1 };
}

const plansById = ({ planned }: Seen) =>
  new Map(planned.flatMap((plan) => (plan.outcome === 'new' ? [[plan.id, plan] as const] : [])));

const runsById = ({ runs }: Seen) => groupBy(runs, ({ id }) => id);

const endsOnce: Rule = (seen) => {
  const [byId, runs] = [plansById(seen), runsById(seen)];
  const faults = [...byId].flatMap(([id, plan]) => {
    const [end, ran, record] = [endOf(plan, seen, byId), runs.get(id)?.length ?? 0, seen.records.get(id)];
    const what = `job ${plan.index} (${JSON.stringify(plan.options)}, fails ${plan.payload.fails})`;
    return [
      ...(ran === end.runs ? [] : [`${what} ran ${ran} times in place of ${end.runs}`]),
      ...(!record || record.status === end.status ? [] : [`${what} is ${record.status}, and not ${end.status}`]),
      ...(!record || record.attempts === end.runs
        ? []
        : [`${what} has ${record.attempts} attempts, and not ${end.runs}`]),
    ];
  });
  const expected = [...byId.values()].filter((plan) => endOf(plan, seen, byId).status === 'completed').length;
  const followed = seen.runs.filter(({ payload }) => payload.follow !== undefined).length;
  const members = seen.runs.filter(({ id, payload }) => seen.members.includes(id) && payload.fails === 0).length;
  const completed = seen.stats.totals['completed'] ?? 0;
  return completed === expected + followed + members
    ? faults
    : [...faults, `${completed} jobs are counted as completed, and ${expected + followed + members} did`];
};

const arrives: Rule = (seen) => {
  const byId = plansById(seen);
  return seen.runs.flatMap((run) => {
    const plan = byId.get(run.id);
    if (!plan) return [];
    const got = JSON.stringify([run.payload, run.metadata, run.group]);
    const sent = JSON.stringify([plan.payload, plan.options.metadata ?? {}, plan.options.group]);
    return got === sent ? [] : [`job ${plan.index} got ${got} in place of ${sent}`];
  });
};

const keepsResults: Rule = (seen) =>
  [...plansById(seen)].flatMap(([id, { index, options }]) => {
    const record = seen.records.get(id);
    if (record?.status !== 'completed') return [];
    const expected = options.keepResult === false ? undefined : { index };
    return JSON.stringify(record.result ?? undefined) === JSON.stringify(expected) ? [] : [`job ${index} has the result ${JSON.stringify(record.result)}`]; // prettier-ignore
  });

const inTime: Rule = (seen) => {
  const [byId, runs] = [plansById(seen), runsById(seen)];
  return [...byId].flatMap(([id, { index, options, askedAt }]) => {
    const first = runs.get(id)?.[0];
    if (!first) return [];
    const due = options.runAt === undefined ? askedAt + (options.delayMs ?? 0) : Number(options.runAt);
    const early = first.claimedAt < due - ROUNDING_MS ? [`job ${index} started ${due - first.claimedAt} ms before its time`] : []; // prettier-ignore
    const unmet = (options.after ?? []).filter((other) => {
      const last = runs.get(other as string)?.at(-1);
      return !last || last.to > first.claimedAt + ROUNDING_MS;
    });
    return [
      ...early,
      ...(unmet.length > 0 ? [`job ${index} started before ${unmet.map(String).join()} had completed`] : []),
    ];
  });
};

/** Returns whether nothing but the enqueue decides about the place of a job in its line. */
const isInLine = ({ outcome, options, payload }: Planned) =>
  outcome === 'new' &&
  payload.fails === 0 &&
  [options.delayMs, options.runAt, options.after, options.unique].every((each) => each === undefined) &&
  (options.expiresInMs ?? Infinity) >= 1_000 &&
  !options.lifo;

/** Finds jobs out of order where one worker runs one job at a time. Each priority has its order. */
const inOrder: Rule = (seen) => {
  const { workers, concurrency, bulk } = seen.shape;
  if (workers > 1 || concurrency > 1 || bulk) return [];
  const byId = plansById(seen);
  const lines = groupBy(
    seen.runs.filter(
      ({ id }) => byId.has(id) && isInLine(byId.get(id)!) && byId.get(id)!.options.group === undefined,
    ),
    ({ id }) => byId.get(id)!.options.priority ?? 0,
  );
  return [...lines].flatMap(([priority, runs]) => outOfOrder(runs, `of priority ${priority}`));
};

/** Returns whether a job keeps its place in its group, also when it is tried again. */
const isOrdered = (plan: Planned) =>
  isInLine({ ...plan, payload: { ...plan.payload, fails: 0 } }) && plan.options.priority === undefined;

/** Finds jobs out of order in groups that run one job at a time, whatever the workers, retries included. */
const inOrderOfGroup: Rule = (seen) => {
  if (seen.shape.queue.groups?.maxRunning !== 1) return [];
  const byId = plansById(seen);
  const runs = seen.runs.filter(({ id, group }) => group !== undefined && byId.has(id) && isOrdered(byId.get(id)!));
  const byFence = runs.toSorted((a, b) => a.fence - b.fence);
  return [...groupBy(byFence, ({ group }) => group)].flatMap(([group, each]) =>
    outOfOrder(each, `of group ${group}`),
  );
};

function outOfOrder(runs: readonly Run[], of: string): string[] {
  const at = runs.findIndex((run, i) => i > 0 && run.payload.index < runs[i - 1]!.payload.index);
  return at < 0 ? [] : [`job ${runs[at]!.payload.index} ${of} ran behind job ${runs[at - 1]!.payload.index}`];
}

const fencesGrow: Rule = (seen) =>
  [...runsById(seen)].flatMap(
    ([id, runs]) =>
    runs.some((run, i) => i > 0 && run.fence <= runs[i - 1]!.fence) ? [`a fence of job ${id} did not grow: ${runs.map(({ fence }) => fence).join()}`] : [], // prettier-ignore
  );

/** @param weigh returns how much a run counts */
function mostAtOnce(runs: readonly Run[], weigh: (run: Run) => number = () => 1): number {
  const changes = runs.flatMap((run) => [[run.from, weigh(run)] as const, [run.to, -weigh(run)] as const]);
  let [now, most] = [0, 0];
  for (const [, change] of changes.toSorted(([a, one], [b, other]) => a - b || one - other)) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/** Finds workers whose running jobs took more slots than there are. */
const withinSlots: Rule = (seen) => {
  const { slots: range, concurrency } = seen.shape;
  if (!range) return [];
  const byId = plansById(seen);
  const slotsOf = ({ id }: Run) => Math.min(byId.get(id)?.options.slots ?? range.default ?? 1, range.most);
  return [...groupBy(seen.runs, ({ worker }) => worker).values()].flatMap((each) => {
    const most = mostAtOnce(each, slotsOf);
    return most > concurrency ? [`jobs of ${most} slots ran at once in a worker, and its concurrency is ${concurrency}`] : []; // prettier-ignore
  });
};

const withinBounds: Rule = ({ runs, shape, planned }) => {
  const { maxRunning = Infinity, groups, maxPending } = shape.queue;
  const perGroup = groups?.maxRunning ?? Infinity;
  const accepted = planned.filter(({ outcome }) => outcome === 'new').length;
  const calls = [...groupBy(runs, ({ call }) => call).values()].map((each) => ({
    ...each[0]!,
    to: Math.max(...each.map(({ to }) => to)),
  }));
  return [
    ...(mostAtOnce(runs) > maxRunning
      ? [`${mostAtOnce(runs)} jobs ran at once, and maxRunning is ${maxRunning}`]
      : []),
    ...[...groupBy(runs, ({ group }) => group)].flatMap(
      ([group, each]) =>
      group !== undefined && mostAtOnce(each) > perGroup ? [`${mostAtOnce(each)} jobs of group ${group} ran at once, and its maxRunning is ${perGroup}`] : [], // prettier-ignore
    ),
    ...[...groupBy(calls, ({ worker }) => worker).values()].flatMap(
      (each) =>
      mostAtOnce(each) > shape.concurrency ? [`${mostAtOnce(each)} calls ran at once in a worker, and its concurrency is ${shape.concurrency}`] : [], // prettier-ignore
    ),
    ...(maxPending !== undefined && accepted !== Math.min(maxPending, planned.length)
      ? [`${accepted} jobs were taken, and maxPending is ${maxPending}`]
      : []),
  ];
};

/** Returns a period in which more than `limit + burst` jobs started. */
function beyondRate(
  runs: readonly Run[],
  rate: RateLimit | undefined,
  costs: ReadonlyMap<string, number>,
  of: string,
): string[] {
  if (!rate) return [];
  const { limit, periodMs, burst = 1 } = rate;
  const sorted = runs.toSorted((a, b) => a.claimedAt - b.claimedAt);
  const costOf = ({ id }: Run) => Math.min(costs.get(id) ?? 1, burst);
  let [sum, first] = [0, 0];
  for (const run of sorted) {
    sum += costOf(run);
    while (sorted[first]!.claimedAt <= run.claimedAt - periodMs) sum -= costOf(sorted[first++]!);
    if (sum > limit + burst + 1) {
      return [`${sum} ${of} started within ${periodMs} ms, and the rate is ${JSON.stringify(rate)}`];
    }
  }
  return [];
}

const atRate: Rule = (seen) => {
  const { rateLimit, groups } = seen.shape.queue;
  const costs = new Map([...plansById(seen)].map(([id, { options }]) => [id, options.cost ?? 1]));
  return [
    ...ratesOf({ rateLimit }).flatMap((rate) => beyondRate(seen.runs, rate, costs, 'jobs')),
    ...[...groupBy(seen.runs, ({ group }) => group)].flatMap(([group, runs]) =>
      group === undefined ? [] : beyondRate(runs, groups?.rateLimit, costs, `jobs of group ${group}`),
    ),
  ];
};

/** Finds keys with two jobs: within their time, or before the first has ended. */
const uniqueAlone: Rule = (seen) => {
  const keyed = [...plansById(seen).values()].filter(({ options }) => options.unique);
  return [...groupBy(keyed, ({ options }) => options.unique!.key)].flatMap(([key, plans]) => {
    const records = plans
      .map(({ id }) => seen.records.get(id))
      .filter((record) => record !== undefined && record !== null);
    if (typeof plans[0]!.options.unique!.for === 'object') {
      return plans.length > 1 ? [`${plans.length} jobs have the key ${key} in its time`] : [];
    }
    if (plans[0]!.options.unique!.for !== 'unfinished') return [];
    const sorted = records.toSorted((a, b) => a.enqueuedAt.getTime() - b.enqueuedAt.getTime());
    return sorted.flatMap((record, i) => {
      const before = sorted[i - 1];
      const ended = before?.completedAt ?? before?.failedAt;
      return ended && ended.getTime() > record.enqueuedAt.getTime() + ROUNDING_MS ? [`two jobs had the key ${key} at once`] : []; // prettier-ignore
    });
  });
};

const followsOnce: Rule = ({ runs, members }) => {
  if (members.length === 0) return [];
  const ofMembers = runs.filter(({ id }) => members.includes(id));
  const follows = runs.filter(({ payload }) => payload.follow !== undefined);
  const good = ofMembers.every(({ payload }) => payload.fails === 0);
  const expected = ['finally', good ? 'then' : 'onFailure'].toSorted().join();
  const found = follows
    .map(({ payload }) => payload.follow!)
    .toSorted()
    .join();
  const lastEnd = Math.max(...ofMembers.map(({ to }) => to));
  return [
    ...(found === expected ? [] : [`the batch was followed by "${found}", and not by "${expected}"`]),
    ...(follows.some(({ claimedAt }) => claimedAt < lastEnd - ROUNDING_MS) ? ['a follow-up ran before the last member had ended'] : []), // prettier-ignore
    ...(ofMembers.length === members.length ? [] : [`${ofMembers.length} runs of ${members.length} members`]),
  ];
};

/** Finds refusals of options that contradict nothing. */
const refusesFew: Rule = ({ planned }) =>
  planned.flatMap(({ outcome, options, index }) =>
    outcome === 'refused' &&
    [options.after, options.expiresInMs, options.unique, options.delayMs].every((each) => each === undefined)
      ? [`job ${index} was refused with ${JSON.stringify(options)}`]
      : [],
  );

export const RULES: Readonly<Record<string, Rule>> = {
  endsOnce,
  arrives,
  keepsResults,
  inTime,
  inOrder,
  inOrderOfGroup,
  fencesGrow,
  withinBounds,
  withinSlots,
  atRate,
  uniqueAlone,
  followsOnce,
  refusesFew,
  findsNoDamage: ({ findings }) => findings.map((finding) => `the doctor found ${finding}`),
  sawNone: ({ faults }) => faults,
};

/** Returns what a round broke. If it did not end, only that: the rest follows from it. */
export function brokenBy(seen: Seen): string[] {
  if (!seen.isOver) {
    const { pending, processing, scheduled } = seen.stats;
    return [
      `not all jobs ended: ${pending} pending, ${processing} processing, ${scheduled} scheduled`,
      ...seen.faults,
    ];
  }
  return Object.entries(RULES).flatMap(([rule, check]) =>
    check(seen)
      .slice(0, 5)
      .map((fault) => `${rule}: ${fault}`),
  );
}
