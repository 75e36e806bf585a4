// The shop over HTTP, with its control page. The work is done by worker processes, which the page starts and stops.
import { NestFactory } from '@nestjs/core';
import { LinkGuard } from 'nest-job-queue/dashboard';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { readFlags, USAGE, type Flags } from './flags.js';
import { choosePort } from './http/choose-port.js';
import { flatForm } from './http/flat-form.js';
import { safeHeaders } from './http/safe-headers.js';
import { whatToTry } from './http/what-to-try.js';
import { ShopLogger } from './shop.logger.js';
import { ownFolder } from './storage/own-folder.js';

const flags = flagsOrExit();
process.env.SHOP_WORKS = process.env.REDIS_URL === 'memory' ? 'yes' : 'no';
ownFolder();
// Loaded after the flags are read, because handlers name their queue when they are loaded.
const { ShopModule } = await import('./shop.module.js');
const { FirstJobs } = await import('./first-jobs.js');
const { Seeds } = await import('./seeds/seeds.js');
const { settings } = await import('./settings.js');
const { Stage } = await import('./control/show/stage.js');
const { WorkerPool } = await import('./control/pool/worker-pool.js');
const port = await choosePort(flags.port, flags.host);

const app = await NestFactory.create<NestExpressApplication>(ShopModule, {
  logger: new ShopLogger(),
  // The webhook's receiver checks a signature over the bytes as they came.
  rawBody: true,
  // A browser's idle connection must not hold up the shutdown.
  forceCloseConnections: true,
});
app.use(safeHeaders);
// Flat, as the forms of the Redis pattern: no name makes an object out of a field.
app.useBodyParser('urlencoded', { extended: false });
app.use(flatForm);
// Exits with 0 once the workers are drained, instead of by the signal.
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
await app.listen(port, flags.host);
if (settings.seeds) await app.get(Seeds, { strict: false }).plant();
app.get(Stage).offered = flags.story;
void app.get(WorkerPool).resize(flags.workers);

const url = await app.getUrl();
console.log(whatToTry(url, LinkGuard.linkTo(url)));
if (flags.firstJobs) await app.get(FirstJobs).enqueue(url);

function flagsOrExit(): Flags {
  try {
    const read = readFlags(process.argv.slice(2));
    if (!read.help) return read;
    console.log(USAGE);
    return process.exit(0);
  } catch (error) {
    console.error((error as Error).message);
    return process.exit(2);
  }
}
