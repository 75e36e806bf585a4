import type { Command } from 'commander';
import type { CommandOptions } from '../context.js';
import type { HostProcess } from '../host-process.js';
import { loadSdk } from './load-sdk.js';
import { serveMcp, type Main } from './serve-mcp.js';

/** The options of every command that say where the queues are. */
const GLOBALS = ['redis', 'prefix', 'sentinel'] as const;

/** Adds the command that serves an assistant. Each of its tools runs a command of the same command line. */
export function addMcp(program: Command, host: HostProcess, main: Main): void {
  program
    .command('mcp')
    .description('serves assistants over stdin and stdout by the Model Context Protocol; it only reads')
    .option('--write', 'offers tools that change queues, too')
    .action(async ({ write = false }: { write?: boolean }) => {
      const given = program.opts<CommandOptions>();
      const globals = GLOBALS.flatMap((name) =>
        given[name] === undefined ? [] : [`--${name}=${String(given[name])}`],
      );
      if (given['cluster']) globals.push('--cluster');
      await serveMcp({ sdk: await loadSdk(), version: program.version()!, host, main, globals, write });
    });
}
