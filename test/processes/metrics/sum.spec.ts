// The sum of the metrics of several processes, by prom-client, without any process.
import { describe, expect, it } from '@jest/globals';
import promClient, { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { MetricsSum, type ScrapedProcess } from '#processes/metrics.js';

/** Makes the metrics of a process: a counter, a histogram, its own gauge and one of the fleet. */
function processOf(name: string, pid: number) {
  const registry = new Registry();
  const registers = [registry];
  const help = 'help';
  const done = new Counter({ name: 'done_total', help, labelNames: ['queue'], registers });
  const took = new Histogram({ name: 'took_seconds', help, buckets: [1], registers });
  const running = new Gauge({ name: 'running', help, registers });
  const depth = new Gauge({ name: 'depth', help, registers, aggregator: 'max' });
  return {
    done,
    took,
    running,
    depth,
    scraped: async (): Promise<ScrapedProcess> => {
      const metrics = await registry.getMetricsAsJSON();
      return { name, pid, restarts: 0, metrics };
    },
    silent: (): ScrapedProcess => ({ name, pid, restarts: 0, metrics: undefined }),
  };
}

function newSum() {
  const sum = new MetricsSum(promClient);
  return async (...processes: ScrapedProcess[]) => {
    const { text } = await sum.read(processes);
    return Object.fromEntries(
      text
        .split('\n')
        .filter((line) => line && !line.startsWith('#'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
    );
  };
}

describe('the metrics of several processes', () => {
  it('are summed, and the figures of the fleet are taken once', async () => {
    const [one, two] = [processOf('worker-1', 1), processOf('worker-2', 2)];
    one.done.inc({ queue: 'email' }, 3);
    two.done.inc({ queue: 'email' }, 4);
    two.took.observe(0.5);
    one.running.set(1);
    two.running.set(2);
    [one, two].forEach(({ depth }) => depth.set(9));
    expect(await newSum()(await one.scraped(), await two.scraped())).toMatchObject({
      'done_total{queue="email"}': 7,
      'took_seconds_bucket{le="1"}': 1,
      took_seconds_count: 1,
      running: 3,
      depth: 9,
      'job_queue_worker_process_up{process="worker-1"}': 1,
      'job_queue_worker_process_restarts_total{process="worker-2"}': 0,
    });
  });

  it('keep the counters of a silent process and of one that ended, and none of its gauges', async () => {
    const [one, two] = [processOf('worker-1', 1), processOf('worker-2', 2)];
    one.done.inc(3);
    two.done.inc(4);
    two.took.observe(2);
    two.running.set(5);
    const read = newSum();
    await read(await one.scraped(), await two.scraped());
    expect(await read(await one.scraped(), two.silent())).toMatchObject({
      done_total: 7,
      took_seconds_count: 1,
      running: 0,
      'job_queue_worker_process_up{process="worker-2"}': 0,
    });
    const next = processOf('worker-2', 3);
    next.done.inc(1);
    for (let scrape = 0; scrape < 3; scrape++) {
      expect(await read(await one.scraped(), await next.scraped())).toMatchObject({
        done_total: 8,
        'took_seconds_bucket{le="+Inf"}': 1,
        running: 0,
      });
    }
    const [first, second] = await Promise.all([read(), read()]);
    expect(second).toEqual(first);
    expect(first).toEqual(expect.objectContaining({ done_total: 8 }));
  });
});
