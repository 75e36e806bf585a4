// node app.mjs REDIS_URL: an app with the dashboard and without a worker, in a separate process. Prints its address.
import * as library from '../../dist/esm/index.js';
import { JobQueueDashboardModule } from '../../dist/esm/dashboard.js';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QUEUES } from './queues.mjs';

class PagesModule {}
Module({
  imports: [
    library.JobQueueModule.forRoot({ redis: process.argv[2], worker: false, maintenance: false }),
    JobQueueDashboardModule.forRoot({ queues: QUEUES, allowRemote: true }),
  ],
})(PagesModule);

const app = await NestFactory.create(PagesModule, { logger: ['error'] });
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
process.on('SIGTERM', () => app.close().then(() => process.exit(0)));
