// The examples of onVerdict in docs/monitoring.md, as written.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Module, type DynamicModule } from '@nestjs/common';
import { JOB_QUEUE_OPTIONS } from '#nest/job-queue.options.js';
import type { JobQueueModuleOptions, VerdictNotice } from 'nest-job-queue';
import { join } from 'node:path';
import { startApp } from '../../nest/app.js';
import { testRedisUrl } from '../../support/redis/redis.js';
import { exampleOf, loadExample } from '../example.js';
import { writeExample } from './files.js';

const NOTICE: VerdictNotice = {
  event: 'began',
  queue: 'e/mail',
  text: 'e/mail stuck: 3 waiting for 6 min, no worker',
  verdict: {
    queue: 'e/mail',
    severity: 'critical',
    state: 'stuck',
    summary: 'stuck: 3 waiting for 6 min, no worker',
  },
  at: new Date(0),
  since: new Date(0),
};

let status = 200;
const bodies: unknown[] = [];
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => (text += chunk));
  request.on('end', () => {
    bodies.push(JSON.parse(text));
    response.writeHead(status).end();
  });
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(process.env, {
    ALERT_URL: url,
    SLACK_WEBHOOK_URL: url,
    DASHBOARD_URL: 'https://ops.example.com/queues',
    REDIS_URL: testRedisUrl(),
  });
});
afterAll(() => {
  server.close();
});

/** Returns the listener of an example that an app boots with. */
async function listenerOf(module: DynamicModule): Promise<(notice: VerdictNotice) => unknown> {
  const app = await startApp({ module });
  return app.get<JobQueueModuleOptions>(JOB_QUEUE_OPTIONS, { strict: false }).onVerdict!;
}

it.each([
  [
    'webhook',
    (body: unknown) =>
      expect(body).toMatchObject({ event: 'began', queue: 'e/mail', at: '1970-01-01T00:00:00.000Z' }),
  ],
  [
    'slack',
    (body: unknown) =>
      expect(body).toEqual({ text: `🟠 ${NOTICE.text}\nhttps://ops.example.com/queues#/queue/e%2Fmail` }),
  ],
])('%s', async (mark, check) => {
  const listener = await listenerOf((await loadExample<{ jobs: DynamicModule }>('monitoring.md', mark)).jobs);
  await listener(NOTICE);
  check(bodies.pop());
  status = 500;
  await expect(listener(NOTICE)).rejects.toThrow('answered 500');
  status = 200;
});

it('mail', async () => {
  const sent: unknown[] = [];
  (globalThis as { sentMails?: unknown[] }).sentMails = sent;
  const folder = writeExample({
    'jobs.ts': exampleOf('monitoring.md', 'mail'),
    'mail.module.ts': `
export class Mailer { send(mail: unknown) { (globalThis as { sentMails?: unknown[] }).sentMails!.push(mail); return Promise.resolve(); } }
export class MailModule {}
`,
  });
  const { Mailer, MailModule } = (await import(join(folder, 'mail.module.ts'))) as Record<string, new () => object>;
  Module({ providers: [Mailer!], exports: [Mailer!] })(MailModule!);
  const { jobs } = (await import(join(folder, 'jobs.ts'))) as { jobs: DynamicModule };
  await (
    await listenerOf(jobs)
  )(NOTICE);
  expect(sent).toEqual([{ to: 'ops@example.com', subject: 'Jobs: began', text: NOTICE.text }]);
});
