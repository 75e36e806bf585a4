// What the dashboard logs where it fails. An error may quote an id or a name that came from anybody.
import { afterEach, expect, it } from '@jest/globals';
import { Logger, type LoggerService } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { ToldErrors } from '../../src/dashboard/told-errors.js';
import { Responder } from '../../src/dashboard/api/route.js';

afterEach(() => Logger.overrideLogger(false));

/** Replies a request whose work throws. Returns the status. */
async function statusOf(thrown: unknown, logger: LoggerService): Promise<number | undefined> {
  Logger.overrideLogger(logger);
  const host = new HttpAdapterHost<ExpressAdapter>();
  host.httpAdapter = new ExpressAdapter();
  const sent: { status?: number } = {};
  host.httpAdapter.setHeader = () => undefined;
  host.httpAdapter.reply = (_response: unknown, _body: unknown, status?: number) => void (sent.status = status);
  await new Responder(host, new ToldErrors()).json({}, () => {
    throw thrown;
  });
  return sent.status;
}

const silent = { log() {}, warn() {}, error() {} };

it('an error is logged on one line of bounded length, with its stack behind it', async () => {
  const lines: string[] = [];
  const logger = { ...silent, error: (text: string) => void lines.push(text) };
  expect(await statusOf(new Error(`no job a\u001b[2J\nFORGED ${'x'.repeat(100_000)}`), logger)).toBe(500);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^The dashboard failed to handle a request: Error: no job a\\x1b\[2J\\nFORGED x+/);
  expect(lines[0]!.length).toBeLessThan(10_000);
});

it('a logger that throws keeps no request from its answer', async () => {
  const logger = {
    ...silent,
    error: () => {
      throw new Error('no log');
    },
  };
  expect(await statusOf(new Error('no'), logger)).toBe(500);
});
