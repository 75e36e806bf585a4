// The MCP server as an assistant starts it: a process of its own, by the client of the SDK.
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { JobQueue } from '#queue/job-queue.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';

const ROOT = join(import.meta.dirname, '../../..');

it('serves over stdio, and ends with its client', async () => {
  const queue = new JobQueue(connect(), uniqueQueueName());
  await queue.enqueue({ to: 'ada' }, { id: 'job-1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', join(ROOT, 'tools/chaos/register.mjs'), join(ROOT, 'src/cli.ts'), 'mcp'],
    cwd: ROOT,
    env: { ...(process.env as Record<string, string>), REDIS_URL: testRedisUrl() },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const { content } = await client.callTool({ name: 'job', arguments: { queue: queue.name, id: 'job-1' } });
  const [{ text }] = content as [{ text: string }];
  expect(JSON.parse(text)).toMatchObject({ data: { payload: { to: 'ada' }, status: 'pending' } });
  const { pid } = transport;
  await client.close();
  expect(() => process.kill(pid!, 0)).toThrow('ESRCH');
}, 60_000);
