// An MCP server within this process, and the client of its SDK.
import { PassThrough } from 'node:stream';
import { afterEach, expect } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { main } from '#cli/program.js';
import { testRedisUrl } from '../../support/redis/redis.js';

const ends = new Set<() => Promise<void>>();
afterEach(async () => {
  for (const end of ends) await end();
});

/** Starts a server within this process, and a client of it. */
export async function serve(...options: string[]) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const env = { ...process.env, REDIS_URL: testRedisUrl() };
  const over = main(['node', 'nest-job-queue', 'mcp', ...options], {
    stdin,
    stdout,
    stderr: new PassThrough(),
    env,
  });
  const client = new Client({ name: 'test', version: '1' });
  // The transport of a server reads one stream and writes another, which is what a client does too.
  await client.connect(new StdioServerTransport(stdout, stdin));
  const end = async () => {
    ends.delete(end);
    await client.close();
    stdin.end();
    expect(await over).toBe(0);
  };
  ends.add(end);
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { isError = false, content } = CallToolResultSchema.parse(
      await client.callTool({ name, arguments: given }),
    );
    return { isError, text: content.map((part) => (part.type === 'text' ? part.text : '')).join('') };
  };
  return { client, call, end };
}
