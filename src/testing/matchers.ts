import type { JobDefinition } from '../queue/enqueue/define-job.js';
import type { EnqueueOptions } from '../queue/enqueue/enqueue-options.js';
import type { EnqueuedJob } from './module/test-log.js';

/** The context of a matcher, in Jest and in Vitest. */
export interface MatcherContext {
  /** True after `.not`. */
  readonly isNot?: boolean;
  /** Compares as the runner does. */
  equals(a: unknown, b: unknown, customTesters?: unknown[], strictCheck?: boolean): boolean;
  /** The printers of messages. */
  readonly utils: {
    stringify(value: unknown): string;
    diff(expected: unknown, received: unknown): string | null | undefined;
    subsetEquality?: unknown;
    iterableEquality?: unknown;
  };
}

/** The result of a matcher, in Jest and in Vitest. */
export interface MatcherResult {
  /** True if the expectation holds. */
  pass: boolean;
  /** Returns what was expected and found. */
  message(): string;
}

interface Wanted {
  name: string;
  payload?: unknown;
  options?: unknown;
}

/** The matchers, for `expect.extend` where a runner has no entry point of its own. */
export const jobQueueMatchers = {
  /**
   * Passes if a job of this name was enqueued. Its payload and its options must have at least the given fields.
   * Asymmetric matchers (`expect.any(Date)`) are allowed in both.
   *
   * @example expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
   */
  toHaveEnqueued(
    this: MatcherContext,
    testing: unknown,
    job: string | JobDefinition,
    payload?: unknown,
    options?: unknown,
  ): MatcherResult {
    const name = typeof job === 'string' ? job : job.name;
    const given = { ...(payload !== undefined && { payload }), ...(options !== undefined && { options }) };
    return look(this, enqueuedIn(testing), { name, ...given });
  },
};

function look(context: MatcherContext, all: EnqueuedJob[], wanted: Wanted): MatcherResult {
  const named = all.filter((each) => each.name === wanted.name);
  const found = named.filter((each) => fits(context, each, wanted));
  const message = () => (context.isNot ? unwanted(context, wanted, found) : missing(context, wanted, named, all));
  return { pass: found.length > 0, message };
}

function enqueuedIn(testing: unknown): EnqueuedJob[] {
  const source = testing as { enqueued?: () => EnqueuedJob[] } | null | undefined;
  if (typeof source?.enqueued !== 'function') {
    throw new TypeError(
      'toHaveEnqueued: expected the JobQueueTesting of a module: expect(moduleRef.get(JobQueueTesting)).',
    );
  }
  return source.enqueued();
}

function fits(context: MatcherContext, job: EnqueuedJob, { payload, options }: Wanted): boolean {
  const { iterableEquality, subsetEquality } = context.utils;
  const testers = [iterableEquality, subsetEquality].filter((tester) => tester !== undefined);
  const matches = (found: unknown, expected: unknown) =>
    expected === undefined || context.equals(found, expected, testers);
  return matches(job.payload, payload) && matches(job.options, options);
}

function unwanted({ utils }: MatcherContext, { name }: Wanted, found: readonly EnqueuedJob[]): string {
  const lines = found.map(({ id, payload, options }) => `  ${id}: ${utils.stringify({ payload, options })}`);
  return `Expected no such job "${name}", and ${count(found.length, 'was', 'were')} enqueued:\n${lines.join('\n')}`;
}

function missing(
  context: MatcherContext,
  wanted: Wanted,
  named: readonly EnqueuedJob[],
  all: readonly EnqueuedJob[],
): string {
  const { name, ...expected } = wanted;
  if (named.length === 0) {
    return `Expected a job "${name}" to be enqueued. ${othersOf(all)}`;
  }
  const closest = closestOf(context, named, wanted);
  const difference = context.utils.diff(expected, {
    ...('payload' in wanted && { payload: part(closest.payload, wanted.payload) }),
    ...('options' in wanted && { options: part(closest.options, wanted.options) }),
  });
  const which = named.length === 1 ? 'The only one' : `${count(named.length, 'was', 'were')} enqueued; the closest`;
  return `Expected a job "${name}" to be enqueued with ${parts(wanted)}. ${which} (${closest.id}) differs:\n\n${difference ?? ''}`;
}

function parts(wanted: Wanted): string {
  return ['payload', 'options'].filter((each) => each in wanted).join(' and ');
}

function count(jobs: number, one: string, many: string): string {
  return jobs === 1 ? `1 ${one}` : `${jobs} ${many}`;
}

function othersOf(all: readonly EnqueuedJob[]): string {
  if (all.length === 0) {
    return 'Nothing was enqueued.';
  }
  const names = [...new Set(all.map(({ name }) => name))];
  const counts = names.map((name) => `"${name}" ×${all.filter((job) => job.name === name).length}`);
  return `Only these were: ${counts.join(', ')}.`;
}

/** Returns the job with most in common; of equals the last. */
function closestOf(context: MatcherContext, named: readonly EnqueuedJob[], wanted: Wanted): EnqueuedJob {
  const score = (job: EnqueuedJob) =>
    common(context, job.payload, wanted.payload) + common(context, job.options, wanted.options);
  return named.reduce((best, job) => (score(job) >= score(best) ? job : best));
}

/** Counts the fields that match. */
function common(context: MatcherContext, found: unknown, expected: unknown): number {
  if (!isRecord(found) || !isRecord(expected)) {
    return expected === undefined || context.equals(found, expected) ? 1 : 0;
  }
  const keys = Object.keys(expected);
  return keys.filter((key) => context.equals(found[key], expected[key])).length / Math.max(1, keys.length);
}

/** Returns the found value, without fields that were not expected. */
function part(found: unknown, expected: unknown): unknown {
  if (!isRecord(found) || !isRecord(expected)) {
    return found;
  }
  const keys = Object.keys(found).filter((key) => Object.hasOwn(expected, key));
  return Object.fromEntries(keys.map((key) => [key, part(found[key], expected[key])]));
}

/** Returns whether it is a plain object: an asymmetric matcher is none. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The matchers as an expectation has them. */
export interface JobQueueMatchers<Result = unknown> {
  /**
   * Passes if a job of this name was enqueued. Its payload and its options must have at least the given fields.
   *
   * @example expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
   */
  toHaveEnqueued(job: string | JobDefinition, payload?: unknown, options?: Partial<EnqueueOptions>): Result;
}
