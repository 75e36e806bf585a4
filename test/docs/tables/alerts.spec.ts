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

function verdict(alert: string, series: Series, expected: object[]) {
  return testRules(RULES, {
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [{ eval_time: '60m', alertname: alert, exp_alerts: expected }],
      },
    ],
  });
}

/** Returns true if an alert fires. Its annotations come from the rules, so promtool's output is read. */
function fires(alert: string, series: Series): boolean {
  const { status, output } = verdict(alert, series, []);
  expect(output).not.toContain('error');
  return status !== 0;
}

// The first use may download promtool.
beforeAll(() => void checkRules('groups: []'), 120_000);

it('each alert is tested', () => {
  const alerts = [...readFileSync(RULES, 'utf8').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  expect(Object.keys(CASES)).toEqual(alerts);
});

describe.each(Object.entries(CASES))('%s', (alert, { fires: wrong, quiet, labels = { queue: 'q' } }) => {
  it('fires', () => {
    const { output } = verdict(alert, wrong, []);
    for (const [label, value] of Object.entries({ alertname: alert, ...labels })) {
      expect(output).toContain(`${label}="${value}"`);
    }
  });

  it.each(quiet.map((series) => [JSON.stringify(series), series] as const))('is quiet on %s', (_, series) => {
    expect(fires(alert, series)).toBe(false);
  });
});

it.each([
  ['drains', { enqueued: 60, completed: 120 }, 90],
  ['never drains', { enqueued: 120, completed: 60 }, 1e300],
])('a queue that %s has its time to drain', (_, perMinute, value) => {
  const events = Object.entries(perMinute).map(([event, by]) => total(event, growing(by)));
  const series = Object.entries(Object.assign({}, pending(90), total('failed', '3x60'), ...events) as Series);
  const { status, output } = testRules(RULES, {
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series.map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: 'clamp_max(job_queue:drain_seconds, 1e300)',
            eval_time: '30m',
            exp_samples: [{ labels: '{queue="q"}', value }],
          },
        ],
      },
    ],
  });
  expect({ status, output }).toEqual({ status: 0, output: expect.anything() });
});
