import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { InvalidOptionError } from 'nest-job-queue';
import { runWorkers, type WorkerProcesses } from 'nest-job-queue/workers';
import { MetricsServer } from '#processes/metrics.js';

let open: (MetricsServer | WorkerProcesses)[] = [];

afterEach(async () => {
  for (const each of open) await ('stop' in each ? each.stop() : each.close());
  open = [];
});

async function serve() {
  Logger.overrideLogger(false);
  const server = await MetricsServer.open({ port: 0, host: '127.0.0.1' });
  open.push(server);
  return server;
}

describe('the metrics of worker processes over HTTP', () => {
  it('are at GET /metrics alone, on this machine alone', async () => {
    const { url } = await serve();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const scraped = await fetch(url);
    expect([scraped.status, scraped.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; version=/),
    ]);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    expect((await fetch(new URL('/other', url))).status).toBe(404);
  });

  it('answer an error of the sum with status 500', async () => {
    const server = await serve();
    server.scrape = () => Promise.reject(new Error('no such thing'));
    expect((await fetch(server.url)).status).toBe(500);
  });

  it('are refused on a port that is in use, before any process starts', async () => {
    const port = Number(new URL((await serve()).url).port);
    const start = runWorkers(class {}, {
      processes: 0,
      entry: import.meta.url,
      ownsProcess: false,
      metrics: { port },
    });
    await expect(start).rejects.toThrow(InvalidOptionError);
    await expect(start).rejects.toThrow(
      /^runWorkers\.metrics: expected a port .* found \d+ on "127.0.0.1": .*EADDRINUSE/,
    );
  });

  it('end with the processes', async () => {
    const workers = await runWorkers(class {}, {
      processes: 0,
      entry: import.meta.url,
      ownsProcess: false,
      logger: false,
      metrics: { port: 0 },
    });
    open.push(workers);
    expect((await fetch(workers.metricsUrl!)).status).toBe(200);
    const { metricsUrl } = workers;
    await workers.stop();
    await expect(fetch(metricsUrl!)).rejects.toThrow();
  });
});
