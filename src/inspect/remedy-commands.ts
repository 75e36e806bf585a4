import { LOOK_AT_REDIS, NO_EVICTION, RAISE_MEMORY, USE_THE_MASTER } from './servers/server-verdict.js';
import type { Remedy } from './rule.js';
import { GRANT, UPGRADE } from './unreadable.js';

/** The commands that help with a next step outside the queues. */
const COMMANDS: Readonly<Record<string, string>> = {
  [USE_THE_MASTER]: 'redis-cli INFO replication',
  [LOOK_AT_REDIS]: 'redis-cli INFO persistence',
  [NO_EVICTION]: 'redis-cli CONFIG SET maxmemory-policy noeviction',
  [RAISE_MEMORY]: 'redis-cli INFO memory',
  [UPGRADE]: 'npm install nest-job-queue@latest',
  [GRANT]: 'redis-cli ACL LIST',
};

/** A command in the words of a next step, in backticks. */
const NAMED = /`((?:npx )?nest-job-queue [^`]+|TYPE [^`]+)`/;

/** Returns the command that helps with the next step of Redis or an unreadable queue. */
export function commandFor(next: string, queue = ''): Remedy | undefined {
  const command = COMMANDS[next] ?? NAMED.exec(next)?.[1];
  return command === undefined
    ? undefined
    : {
        at: 'command',
        command: command
          .replace(/^TYPE /, 'redis-cli TYPE ')
          .replace(/^nest-job-queue /, 'npx nest-job-queue ')
          .replace('<queue>', queue),
      };
}
