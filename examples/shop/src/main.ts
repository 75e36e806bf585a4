// The shop over HTTP, with workers in the same process.
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { JobQueueService } from 'nest-job-queue';
import { AppModule } from './app.module.js';
import { enqueueFirstJobs } from './first-jobs.js';
import { choosePort } from './http/choose-port.js';
import { whatToTry } from './http/what-to-try.js';

const host = process.env.HOST ?? '127.0.0.1';
const port = await choosePort(process.env.PORT ?? '3000', host);

const app = await NestFactory.create<NestExpressApplication>(AppModule, {
  // The webhook's receiver checks a signature over the bytes as they came.
  rawBody: true,
  // A browser's idle connection must not hold up the shutdown.
  forceCloseConnections: true,
});
// Exits with 0 once the workers are drained, instead of by the signal.
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
await app.listen(port, host);

const url = await app.getUrl();
console.log(whatToTry(url));
await enqueueFirstJobs(app.get(JobQueueService), url);
