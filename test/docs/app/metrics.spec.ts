// The route of docs/monitoring.md gives what the module measures.
import { NestFactory } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { testRedisUrl } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';

it('a route shows the metrics of the app', async () => {
  register.clear(); // an app of another file has the same default registry
  process.env.REDIS_URL = testRedisUrl();
  const { AppModule } = await loadExample<{ AppModule: new () => unknown }>('monitoring.md', 'metrics');
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const response = await fetch(`${await app.getUrl()}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  expect(await response.text()).toContain('# TYPE job_queue_depth gauge');
  await app.close();
});
