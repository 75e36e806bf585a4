import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { show } from '../../queue/errors/show.js';
import { MetricsSum, type MetricsClient, type ScrapedProcess } from './sum.js';
import type { ResolvedRunWorkersOptions } from '../options.js';

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
