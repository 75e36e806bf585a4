import { createRequire } from 'node:module';
import type { Command } from 'commander';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import type { RunOnServers, ServersContext } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import { Interruption } from '../live/interruption.js';
import { text } from '../text.js';

/** The entry point with the dashboard. A name in a constant keeps it out of the bundle of the command line. */
const ENTRY = 'nest-job-queue/dashboard';
const PACKAGES = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'];
const MOST_PORT = 65_535;

/** The part of the entry point that the command needs. */
interface DashboardEntry {
  serveDashboard(options: {
    servers: readonly {
      name: string;
      client: RedisClient;
      prefix: string;
      findQueues(): Promise<readonly string[]>;
    }[];
    host: string;
    port: number;
    readOnly: boolean;
    user: string;
  }): Promise<{ link: string; close(): Promise<void> }>;
}

/** Adds the command that serves the dashboard. */
export function addDashboard(program: Command, run: RunOnServers): void {
  program
    .command('dashboard')
    .description('serves the dashboard of this Redis, or of several; only the link that it prints opens it')
    .option('--port <n>', 'its port; 0 for any free one', '4000')
    .option('--host <address>', 'its address', '127.0.0.1')
    .option('--allow-changes', 'lets its users change jobs and queues; without it they can only read')
    .action(run(serve));
}

async function serve(
  { servers, out, user }: ServersContext,
  _: string[],
  options: Record<string, unknown>,
): Promise<void> {
  const port = wholeNumber('port', options['port'] as string)!;
  if (port > MOST_PORT) {
    throw new CliError(`--port: expected at most ${MOST_PORT}, found ${port}.`, EXIT.usage);
  }
  const { serveDashboard } = await load();
  const readOnly = options['allowChanges'] !== true;
  const sessions = servers.map(({ session }) => session);
  const interruption = new Interruption(sessions.length === 1 ? sessions[0] : undefined); // several outlive one of them
  sessions.forEach((session) => (session.reconnects = true));
  try {
    const served = await serveDashboard({
      servers: servers.map(({ name, session }) => ({
        name,
        client: session.client,
        prefix: session.prefix,
        findQueues: () => session.queueNames(),
      })),
      host: options['host'] as string,
      port,
      readOnly,
      user: user ?? '',
    });
    const may = readOnly ? 'It only reads; --allow-changes lets it change.' : 'It may change jobs and queues.';
    out.line(
      { url: served.link, readOnly },
      () => text`Dashboard of ${sessions.map(({ place }) => place).join(', ')}: ${served.link}`,
    );
    servers.forEach(({ name, problem }) => problem && out.tell(text`${name}: ${problem}`.value));
    out.tell(`${may} Ctrl+C ends it.`);
    try {
      await interruption.over;
    } finally {
      await served.close();
    }
  } finally {
    sessions.forEach((session) => (session.reconnects = false));
    interruption.close();
  }
}

/** @throws CliError that names the packages to add */
async function load(): Promise<DashboardEntry> {
  const { resolve } = createRequire(import.meta.url);
  const missing = PACKAGES.filter((name) => {
    try {
      return !resolve(name);
    } catch {
      return true;
    }
  });
  if (missing.length > 0) {
    const all = ['nest-job-queue', ...PACKAGES].map((name) => `-p ${name}`).join(' ');
    throw new CliError(
      `The dashboard needs ${missing.join(', ')}. Run: npx ${all} nest-job-queue dashboard`,
      EXIT.usage,
    );
  }
  return (await import(ENTRY)) as DashboardEntry;
}
