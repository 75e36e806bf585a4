// `npm run incident`: a large shop at three in the morning, for eyes and for tests of the dashboard.
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LinkGuard } from 'nest-job-queue/dashboard';
import { ShopLogger } from '../shop.logger.js';
import { writeBacklog } from './incident-backlog.js';
import { ALL_JOBS } from './incident-queues.js';

const { jobs, port } = optionsOrExit();
const redis = new Redis(process.env.REDIS_URL!);
await writeBacklog(redis, jobs, (name) => console.log(`Filling ${name} …`));
await redis.quit();

const { IncidentModule } = await import('./incident.module.js');
const { ImageProcesses } = await import('./image-processes.js');
const { IncidentTraffic } = await import('./incident-traffic.js');
const app = await NestFactory.create(IncidentModule, { logger: new ShopLogger(), forceCloseConnections: true });
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
await app.listen(port, '127.0.0.1');
await app.get(IncidentTraffic).begin();
await app.get(ImageProcesses).start();
console.log(`The incident is open: ${LinkGuard.linkTo(`${await app.getUrl()}/queues`)}`);

/** Returns the options, or ends the process with the reason. Jobs only go to a Redis that was started for this run. */
function optionsOrExit(): { jobs: number; port: number } {
  try {
    const { values } = parseArgs({ options: { jobs: { type: 'string' }, port: { type: 'string' } } });
    if (process.env.REDIS_THROWAWAY !== 'yes') {
      throw new Error('The incident needs a Redis of its own. Unset REDIS_URL, and run npm run incident.');
    }
    return {
      jobs: numberOf('jobs', values.jobs ?? ALL_JOBS, 1_000_000),
      port: numberOf('port', values.port ?? (process.env.PORT || 4_000), 65_535),
    };
  } catch (error) {
    console.error((error as Error).message);
    return process.exit(2);
  }
}

function numberOf(option: string, value: string | number, most: number): number {
  if (/^\d+$/.test(String(value)) && Number(value) <= most) return Number(value);
  throw new Error(`--${option}: expected a whole number up to ${most}, found "${value}".`);
}
