import type { AddressInfo } from 'node:net';
import { Controller, Get, Module, type DynamicModule, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { partToken } from '../nest/connection/connection-tokens.js';
import type { QueueRegistry } from '../nest/connection/queue-registry.js';
import { JobQueueModule } from '../nest/job-queue.module.js';
import type { RedisClient } from '../queue/redis/redis-client.js';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import { JobQueueDashboardModule } from './dashboard.module.js';
import { LinkGuard } from './security/access.guard.js';

/** The time between two looks for new queues, in ms. */
const LOOK_MS = 60_000;
/** The time that the first look of several servers has before the pages are served, in ms. */
const FIRST_LOOK_MS = 500;

/** A Redis whose queues are shown. */
interface StandaloneServer {
  /** The name in the address, if there are several. */
  name: string;
  /** A connected client, or one that connects later. The dashboard does not close it. */
  client: RedisClient;
  prefix: string;
  /** Finds the names of all queues. */
  findQueues(): Promise<readonly string[]>;
}

/** The options of a dashboard without an app. */
interface StandaloneOptions {
  servers: readonly StandaloneServer[];
  host: string;
  /** 0 for any free port. */
  port: number;
  readOnly: boolean;
  /** The name of the user for the action log, '' for none. */
  user: string;
}

/** A running dashboard. */
interface StandaloneDashboard {
  /** The address with the token that lets a browser in. */
  link: string;
  close(): Promise<void>;
}

/** Replies to the probe of a container. It says nothing of Redis: the page shows that Redis is away. */
@Controller('health')
class HealthController {
  @Get()
  health(): { status: 'ok' } {
    return { status: 'ok' };
  }
}

/**
 * Serves the dashboard of any Redis, for the command line. Its process neither works nor maintains. Each of several
 * servers has a dashboard of its own, so that the silence of one leaves the others alone.
 */
export async function serveDashboard(options: StandaloneOptions): Promise<StandaloneDashboard> {
  const { servers, host, port } = options;
  class StandaloneModule {}
  const imports = servers.flatMap((server) => modulesOf(server, options));
  Module({ imports, controllers: [HealthController] })(StandaloneModule);
  const app = await NestFactory.create<NestExpressApplication>(StandaloneModule, {
    logger: false,
    abortOnError: false,
  });
  app.disable('x-powered-by');
  const look = (server: StandaloneServer) => findNewQueues(app, server);
  try {
    const looks = servers.map(look);
    await (servers.length === 1
      ? looks[0]
      : within(systemClock, FIRST_LOOK_MS, Promise.allSettled(looks), () => undefined)); // one may be away
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const again = () => servers.forEach((server) => void look(server).catch(() => undefined)); // its page says it
  const timer = setInterval(again, LOOK_MS);
  const { port: bound } = (app.getHttpServer() as { address(): AddressInfo }).address();
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    link: LinkGuard.linkTo(`http://${name}:${bound}/${pathOf(servers[0]!, options)}`),
    close: () => {
      clearInterval(timer);
      return app.close();
    },
  };
}

function modulesOf(server: StandaloneServer, options: StandaloneOptions): DynamicModule[] {
  const { client, prefix, name } = server;
  const { servers, readOnly, user } = options;
  const listed = servers.map((each) => ({ name: each.name, path: pathOf(each, options) }));
  return [
    JobQueueModule.forRoot({ name, redis: client, prefix, worker: false, maintenance: false, audit: 'off' }),
    JobQueueDashboardModule.forRoot({
      connection: name,
      path: pathOf(server, options),
      guards: [LinkGuard],
      otherQueues: 'operate',
      servers: listed,
      readOnly,
      user: () => user,
    }),
  ];
}

function pathOf({ name }: StandaloneServer, { servers }: StandaloneOptions): string {
  return servers.length === 1 ? 'queues' : `queues/${name}`;
}

async function findNewQueues(app: INestApplication, { name, findQueues }: StandaloneServer): Promise<void> {
  const registry = app.get<QueueRegistry>(partToken('queues', name), { strict: false });
  (await findQueues()).forEach((queue) => registry.queue(queue));
}
