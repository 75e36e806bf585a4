// Each alert fires on what it is for, and is quiet on what it is not for: Prometheus itself judges.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { checkRules, testRules } from '../../support/docs/promtool.js';

const RULES = 'docs/monitoring/alerts.yml';

/** Series by their lines; each stays for an hour. */
type Series = Record<string, string>;

interface Case {
  fires: Series;
  /** A similar series that is healthy. */
  quiet: Series[];
  /** Labels of the alert beside the queue. */
  labels?: Record<string, string>;
}

const up = (value: number) => ({ 'job_queue_up{queue="q"}': `${value}x60` });
const pending = (value: number) => ({ 'job_queue_depth{queue="q",state="pending"}': `${value}x60` });
const workers = (value: number) => ({ 'job_queue_workers{queue="q"}': `${value}x60` });
const paused = (values: string) => ({ 'job_queue_paused{queue="q"}': values });
const of = (name: string, values: string) => ({ [`job_queue_${name}{queue="q"}`]: values });
const total = (event: string, values: string) => ({ [`job_queue_jobs_total{queue="q",event="${event}"}`]: values });
const attempts = (outcome: string, values: string) => ({
  [`job_queue_attempts_total{queue="q",name="n",outcome="${outcome}"}`]: values,
});
/** Returns a counter that grows by `by` a minute. */
const growing = (by: number) => `0+${by}x60`;

const CASES: Record<string, Case> = {
  JobQueueRedisAway: { fires: up(0), quiet: [up(1)] },
  JobQueueNoWorker: {
    fires: { ...workers(0), ...pending(3) },
    quiet: [
      { ...workers(0), ...pending(0) },
      { ...workers(1), ...pending(3) },
      { ...workers(0), ...pending(3), ...paused('1x60') },
    ],
  },
  JobQueueNotMeasured: { fires: workers(1), quiet: [up(1), up(0)], labels: {} },
  JobQueueNameUnserved: {
    fires: { ...workers(1), ...of('unserved_names', '1x60') },
    quiet: [
      { ...workers(1), ...of('unserved_names', '0x60') },
      { ...workers(0), ...of('unserved_names', '1x60') }, // that is JobQueueNoWorker
      { ...workers(1), ...of('unserved_names', '1x60'), ...paused('1x60') },
    ],
  },
  JobQueueNotMaintained: {
    fires: { ...workers(1), ...of('maintenance_age_seconds', '0+60x60') },
    quiet: [
      { ...workers(1), ...of('maintenance_age_seconds', '10x60') },
      { ...workers(0), ...of('maintenance_age_seconds', '0+60x60') },
    ],
  },
  JobQueueNeverMaintained: {
    fires: workers(1),
    quiet: [
      { ...workers(1), ...of('maintenance_age_seconds', '0x60') },
      workers(0),
      { ...workers(1), ...of('maintenance_age_seconds', '_x57 5x3') }, // it has just begun
    ],
  },
  JobQueueOldestJobWaits: {
    fires: { ...of('oldest_unheld_age_seconds', '0+60x60'), ...paused('0x60') },
    quiet: [
      { ...of('oldest_unheld_age_seconds', '200x60'), ...paused('0x60') },
      { ...of('oldest_unheld_age_seconds', '0+60x60'), ...paused('1x60') },
      // The oldest job waits in a paused group.
      { ...of('oldest_pending_age_seconds', '0+60x60'), ...of('oldest_unheld_age_seconds', '0x60') },
    ],
  },
  JobQueueScheduleLate: {
    fires: of('schedule_late_seconds', '0+60x60'),
    quiet: [of('schedule_late_seconds', '0x60'), of('schedule_late_seconds', '200x60')],
  },
  JobQueueClaimsNotTakenBack: { fires: of('expired_claims', '2x60'), quiet: [of('expired_claims', '0x59 1')] },
  JobQueueDeadLettersGrow: {
    // The dead letters are at their cap.
    fires: { ...total('failed', growing(1)), ...of('dead_letters', '10000x60') },
    quiet: [
      { ...total('failed', '40x60'), ...of('dead_letters', '40x60') },
      // A redrive that failed in part.
      { ...total('failed', '40x60'), ...of('dead_letters', '0+1x60') },
    ],
  },
  JobQueueDeadLettersDropped: {
    fires: total('dropped', '0x30 40000x30'), // one import of many rows
    quiet: [total('dropped', '40000x60'), total('failed', growing(1))],
  },
  JobQueueAttemptsFail: {
    fires: { ...attempts('retry', growing(6)), ...attempts('completed', growing(4)) },
    quiet: [{ ...attempts('retry', growing(4)), ...attempts('completed', growing(6)) }],
  },
  JobQueueOutboxWaits: {
    fires: { job_queue_outbox_oldest_age_seconds: growing(60) },
    quiet: [{ job_queue_outbox_oldest_age_seconds: '20x60' }],
    labels: {},
  },
  JobQueueOutboxRowsFailed: {
    fires: { 'job_queue_outbox_rows{state="failed"}': '1x60' },
    quiet: [{ 'job_queue_outbox_rows{state="failed"}': '0x60', 'job_queue_outbox_rows{state="waiting"}': '9x60' }],
    labels: {},
  },
  JobQueueWorkersCrash: {
    fires: total('crashed', growing(1)),
    quiet: [total('crashed', '3x60'), total('reclaimed', growing(1))],
  },
  JobQueueHandlersStuck: {
    fires: { 'job_queue_stuck_handlers_total{queue="q",name="n"}': growing(1) },
    quiet: [{ 'job_queue_stuck_handlers_total{queue="q",name="n"}': '2x60' }],
    labels: { queue: 'q', name: 'n' },
  },
  JobQueuePausedForLong: { fires: paused('1x60'), quiet: [paused('0x30 1x30'), paused('_x30 1x30')] }, // the second began to be measured
};

const series = (each: Series) => Object.entries(each).map(([name, values]) => ({ series: name, values }));

/** Returns a test that fails where the alert fires. Its annotations come from the rules, so promtool's output is read. */
const noAlert = (alert: string, input: Series) => ({
  interval: '1m',
  input_series: series(input),
  alert_rule_test: [{ eval_time: '60m', alertname: alert, exp_alerts: [] }],
});

const DRAINS = [
  ['drains', { enqueued: 60, completed: 120 }, 90],
  ['never drains', { enqueued: 120, completed: 60 }, 1e300],
] as const;

function drainSeconds(perMinute: Record<string, number>, value: number) {
  const events = Object.entries(perMinute).map(([event, by]) => total(event, growing(by)));
  const expr = 'clamp_max(job_queue:drain_seconds, 1e300)';
  return {
    interval: '1m',
    input_series: series(Object.assign({}, pending(90), total('failed', '3x60'), ...events) as Series),
    promql_expr_test: [{ expr, eval_time: '30m', exp_samples: [{ labels: '{queue="q"}', value }] }],
  };
}

const nameOf = (subject: string, number = 0) => `${subject}/${number}`;

/** All tests, by name. One run of promtool judges them. */
const TESTS = new Map<string, object>([
  ...Object.entries(CASES).flatMap(([alert, { fires, quiet }]) =>
    [fires, ...quiet].map((input, i) => [nameOf(alert, i), noAlert(alert, input)] as const),
  ),
  ...DRAINS.map(([title, perMinute, value]) => [nameOf(title), drainSeconds(perMinute, value)] as const),
]);

/** What promtool says of the tests that failed, by name. */
const failures = new Map<string, string>();

beforeAll(() => {
  checkRules('groups: []'); // the first use may download promtool
  const tests = [...TESTS].map(([name, test]) => ({ name, ...test }));
  const [head, ...failed] = testRules(RULES, { evaluation_interval: '1m', tests }).output.split(/^ *name: /m);
  expect(head).toMatch(/FAILED:\s*$/);
  for (const text of failed) failures.set(text.slice(0, text.indexOf(',')), text);
  expect([...failures.keys()].filter((name) => !TESTS.has(name))).toEqual([]);
}, 120_000);

it('each alert is tested', () => {
  const alerts = [...readFileSync(RULES, 'utf8').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  expect(Object.keys(CASES)).toEqual(alerts);
});

describe.each(Object.entries(CASES))('%s', (alert, { quiet, labels = { queue: 'q' } }) => {
  it('fires', () => {
    for (const [label, value] of Object.entries({ alertname: alert, ...labels })) {
      expect(failures.get(nameOf(alert))).toContain(`${label}="${value}"`);
    }
  });

  it.each(quiet.map((each, i) => [JSON.stringify(each), i + 1] as const))('is quiet on %s', (_, number) => {
    expect(failures.get(nameOf(alert, number))).toBeUndefined();
  });
});

it.each(DRAINS.map(([title]) => title))('a queue that %s has its time to drain', (title) => {
  expect(failures.get(nameOf(title))).toBeUndefined();
});
