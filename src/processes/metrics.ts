import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { loadPeer } from '../queue/errors/load-peer.js';
import { SafeLogger } from '../queue/errors/safe-logger.js';
import { show } from '../queue/errors/show.js';
import type { ResolvedRunWorkersOptions } from './options.js';

const PATH = '/metrics';

/** Loads prom-client. @throws InvalidOptionError without it */
export function loadMetricsClient(subject: string): Promise<MetricsClient> {
  return loadPeer('prom-client', subject, 'to sum metrics', async () => {
    const { register, AggregatorRegistry } = await import('prom-client');
    return { register, AggregatorRegistry };
  });
}

/** Serves the metrics of all worker processes at one address. */
export class MetricsServer {
  private readonly logger = SafeLogger.of(new Logger('Workers'));
  /** Reads the processes. Before they are started there is none. */
  scrape: () => Promise<ScrapedProcess[]> = () => Promise.resolve([]);

  /** The address to scrape. */
  readonly url: string;

  private constructor(
    private readonly server: Server,
    private readonly sum: MetricsSum,
  ) {
    const { address, port, family } = server.address() as AddressInfo;
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`;
    server.on('request', (request, response) => void this.answer(request, response));
  }

  /** @throws InvalidOptionError for a port that cannot be had, and without prom-client */
  static async open({ port, host }: NonNullable<ResolvedRunWorkersOptions['metrics']>): Promise<MetricsServer> {
    const client = await loadMetricsClient('runWorkers.metrics');
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          new InvalidOptionError(
            'runWorkers.metrics',
            'a port and a host that this process can listen on',
            `${show(port)} on ${show(host)}: ${error.message}`,
          ),
        ),
      );
      server.listen(port, host, resolve);
    });
    const opened = new MetricsServer(server, new MetricsSum(client));
    opened.logger.log(`Metrics of all worker processes: ${opened.url}`);
    return opened;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = request.url?.split('?')[0];
      if (path !== PATH || (request.method !== 'GET' && request.method !== 'HEAD')) {
        response.writeHead(path === PATH ? 405 : 404, { 'content-type': 'text/plain' }).end(`GET ${PATH}\n`);
        return;
      }
      const { contentType, text } = await this.sum.read(await this.scrape());
      response.writeHead(200, { 'content-type': contentType }).end(request.method === 'HEAD' ? undefined : text);
    } catch (error) {
      this.logger.warn('Could not sum the metrics of the worker processes', error);
      response.writeHead(500, { 'content-type': 'text/plain' }).end('The log of the supervisor says why.\n');
    }
  }
}

/** The values of one metric, as prom-client lists them. */
interface MetricValues {
  name: string;
  help: string;
  /** `counter` and the like, which the types of prom-client declare as numbers. */
  type: unknown;
  aggregator?: string;
  values: { value: number; labels: object; metricName?: string }[];
}

/** The metrics of a process, as `getMetricsAsJSON()` of prom-client returns them. */
export type MetricList = readonly MetricValues[];

/** The used part of prom-client, so that the types of this entry point do not need it. */
interface MetricsClient {
  /** The default registry. */
  register: MetricsRegistry;
  /** Sums the metrics of processes. */
  AggregatorRegistry: { aggregate(lists: MetricList[]): MetricsRegistry };
}

/** The used part of a registry of prom-client. */
export interface MetricsRegistry {
  contentType: string;
  getMetricsAsJSON(): Promise<MetricList>;
  metrics(): Promise<string>;
}

export interface ScrapedProcess {
  /** Its name, such as `worker-1`. */
  name: string;
  pid: number | undefined;
  restarts: number;
  /** Undefined if it did not reply. */
  metrics: MetricList | undefined;
}

/**
 * Sums the metrics of all worker processes. The counters of a process that is silent or has ended stay in the sum. A sum
 * that falls would look like a restart of all processes, and rates would be wrong.
 */
export class MetricsSum {
  /** The last counters of each process. */
  private readonly last = new Map<string, MetricList>();
  /** The sum of the counters of processes that have ended. */
  private ended: MetricList = [];
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: Pick<MetricsClient, 'AggregatorRegistry'>) {}

  /** Returns the text of a scrape. Scrapes take turns, because each may merge the counters of ended processes. */
  read(processes: readonly ScrapedProcess[]): Promise<{ contentType: string; text: string }> {
    const read = this.turn.then(() => this.sumOf(processes));
    this.turn = read.catch(() => undefined);
    return read;
  }

  private async sumOf(processes: readonly ScrapedProcess[]): Promise<{ contentType: string; text: string }> {
    const silent: MetricList[] = [];
    for (const { name, pid, metrics } of processes) {
      const key = `${name}:${pid}`;
      if (metrics) {
        this.last.set(key, metrics.filter(isSummedCounter));
      } else {
        silent.push(this.last.get(key) ?? []);
      }
    }
    await this.addEnded(new Set(processes.map(({ name, pid }) => `${name}:${pid}`)));
    const replies = processes.flatMap(({ metrics }) => (metrics ? [metrics] : []));
    const sum = this.client.AggregatorRegistry.aggregate([
      ...replies,
      ...silent,
      this.ended,
      processFigures(processes),
    ]);
    return { contentType: sum.contentType, text: await sum.metrics() };
  }

  private async addEnded(alive: ReadonlySet<string>): Promise<void> {
    const gone = [...this.last.keys()].filter((key) => !alive.has(key));
    if (gone.length > 0) {
      const lists = gone.map((key) => this.last.get(key)!);
      gone.forEach((key) => this.last.delete(key));
      this.ended = await this.client.AggregatorRegistry.aggregate([this.ended, ...lists]).getMetricsAsJSON();
    }
  }
}

/** Returns whether a metric only grows, and is summed over processes. */
function isSummedCounter({ type, aggregator = 'sum' }: MetricValues): boolean {
  return (type === 'counter' || type === 'histogram') && aggregator === 'sum';
}

/** Returns the metrics of the processes themselves. */
function processFigures(processes: readonly ScrapedProcess[]): MetricList {
  const figure = (value: (each: ScrapedProcess) => number) =>
    processes.map((each) => ({ value: value(each), labels: { process: each.name } }));
  return [
    {
      name: 'job_queue_worker_process_up',
      help: 'Whether the worker process gave its metrics to this scrape: 1 or 0',
      type: 'gauge',
      aggregator: 'sum',
      values: figure(({ metrics }) => (metrics ? 1 : 0)),
    },
    {
      name: 'job_queue_worker_process_restarts_total',
      help: 'How often the worker process was started again',
      type: 'counter',
      aggregator: 'sum',
      values: figure(({ restarts }) => restarts),
    },
  ];
}
