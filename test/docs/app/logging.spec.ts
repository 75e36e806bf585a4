// The examples of docs/logging.md, as written.
import type { Type } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { runExample } from './child.js';
import { exampleOf, loadExample } from '../example.js';
import { writeExample } from './files.js';

it('currentJob in a service of the handler', async () => {
  const { AuditTrail } = (await loadExample('logging.md', 'audit')) as Record<
    string,
    Type<{ add(what: string): void; entries: string[] }>
  >;
  const name = uniqueQueueName();
  @JobHandler(name)
  class Handler {
    constructor(private readonly trail: InstanceType<NonNullable<typeof AuditTrail>>) {}

    handle(job: Job<string>) {
      this.trail.add(job.payload);
    }
  }
  Reflect.defineMetadata('design:paramtypes', [AuditTrail], Handler);
  const app = await startApp({ jobs: { currentJob: true }, providers: [Handler, AuditTrail!] });
  const job = await app.get(JobQueueService).enqueue(name, 'paid', { metadata: { tenant: 'acme' } });
  await job.result();
  app.get(AuditTrail!).add('looked');
  expect(app.get(AuditTrail!).entries).toEqual([`paid by job ${name} of acme`, 'looked by a request']);
});

const REQUEST_APP = `
import { Controller, Injectable, Logger, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueService } from 'nest-job-queue';
import { InfrastructureModule } from './infrastructure.module.js';

const lines: string[] = [];
const keep = (message: unknown) => void lines.push(String(message));
let end: () => void = () => undefined;
const done = new Promise<void>((resolve) => (end = resolve));

@Injectable()
class Handlers {
  private readonly logger = new Logger('Handlers');
  constructor(private readonly jobs: JobQueueService) {}

  @JobHandler('order')
  async order() {
    this.logger.log('ordered');
    await this.jobs.enqueue('receipt', {});
  }

  @JobHandler('receipt')
  receipt() {
    this.logger.log('printed');
    end();
  }
}

@Controller('orders')
class Orders {
  constructor(private readonly jobs: JobQueueService) {}

  @Post()
  async order() {
    return { id: (await this.jobs.enqueue('order', {})).id };
  }
}

@Module({ imports: [InfrastructureModule], controllers: [Orders], providers: [Handlers] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: { log: keep, warn: keep, error: keep } });
await app.listen(0, '127.0.0.1');
const headers = { 'x-request-id': 'r-7', 'x-tenant': 'acme' };
await fetch(String(await app.getUrl()) + '/orders', { method: 'POST', headers });
await done;
await app.close();
console.log(JSON.stringify(lines.filter((line) => /ordered|printed/.test(line))));
`;

it('the request id and the tenant of a request are in the log of its job, and of the job that follows', async () => {
  const folder = writeExample({
    'request-context.ts': exampleOf('logging.md', 'request'),
    'infrastructure.module.ts': exampleOf('logging.md', 'module'),
    'main.ts': REQUEST_APP,
  });
  const redis = await startOwnRedis();
  expect(await runExample(folder, 'main.ts', { REDIS_URL: redis.url })).toEqual([
    '[r-7 of acme] ordered',
    '[r-7 of acme] printed',
  ]);
}, 60_000);
