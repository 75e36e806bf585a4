import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { JobQueueModule } from '../../nest/job-queue.module.js';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { JobQueueDashboardModule } from '../dashboard.module.js';
import { LinkGuard } from '../security/link-guard.js';

/** The time between two looks for new queues, in ms. */
const LOOK_MS = 60_000;

/** The options of a dashboard without an app. */
interface StandaloneOptions {
  /** A connected client. The dashboard does not close it. */
  client: RedisClient;
  prefix: string;
  host: string;
  /** 0 for any free port. */
  port: number;
  readOnly: boolean;
  /** The name of the user for the action log, '' for none. */
  user: string;
  /** Finds the names of all queues. */
  findQueues(): Promise<readonly string[]>;
}

/** A running dashboard. */
interface StandaloneDashboard {
  /** The address with the token that lets a browser in. */
  link: string;
  close(): Promise<void>;
}

/** Serves the dashboard of any Redis, for the command line. Its process neither works nor maintains. */
export async function serveDashboard(options: StandaloneOptions): Promise<StandaloneDashboard> {
  const { client, prefix, host, port, readOnly, user, findQueues } = options;
  class StandaloneModule {}
  Module({
    imports: [
      JobQueueModule.forRoot({ redis: client, prefix, worker: false, maintenance: false, audit: 'off' }),
      JobQueueDashboardModule.forRoot({ guards: [LinkGuard], otherQueues: 'operate', readOnly, user: () => user }),
    ],
  })(StandaloneModule);
  const app = await NestFactory.create(StandaloneModule, { logger: false });
  const registry = app.get(QueueRegistry, { strict: false });
  const show = async () => (await findQueues()).forEach((name) => registry.queue(name));
  try {
    await show();
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const timer = setInterval(() => void show().catch(() => undefined), LOOK_MS); // the command ends where Redis is lost
  const { port: bound } = (app.getHttpServer() as { address(): AddressInfo }).address();
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    link: LinkGuard.linkTo(`http://${name}:${bound}/queues`),
    close: () => {
      clearInterval(timer);
      return app.close();
    },
  };
}
