// Runs the soak, by its options:
//
//   npm run soak -- --minutes N --seed S [--redis URL]    faults for N minutes, drawn from the seed
//   npm run soak -- --jobs N [--seed S] [--redis URL]     a load of N jobs through four workers
//   npm run soak -- --forget [--seed S]                   kills a Redis without persistence in the middle
//   npm run soak -- --topology sentinel|cluster …         failovers instead of the faults of one server
//   npm run soak -- --kinds slow,bandwidth …              only these kinds of faults
import { rmSync } from 'node:fs';
import { argumentsOf } from '../../scripts/arguments.mjs';
import { kindsOf, type FaultKind, type Topology } from './plan.js';
import { passes, reportOf } from './run/report.js';
import { run } from './run/run.js';
import type { RunOptions } from './run/run-options.js';

/** From this many minutes or jobs on the use of memory can be judged. */
const LONG_MINUTES = 10;
const MANY_JOBS = 500_000;

const { values } = argumentsOf('soak', {
  options: {
    minutes: { type: 'string', default: '5', about: 'how long it runs' },
    seed: {
      type: 'string',
      default: String(Math.floor(Math.random() * 1_000_000)),
      about: 'draws the faults and the load',
    },
    redis: { type: 'string', about: 'the address of a server that is not harmed itself' },
    jobs: { type: 'string', default: '0', about: 'a load of so many jobs in place of faults' },
    topology: { type: 'string', default: 'single', about: 'single, sentinel or cluster' },
    kinds: { type: 'string', about: 'only these kinds of faults, with commas' },
    forget: { type: 'boolean', default: false, about: 'the server loses its data' },
    keep: { type: 'boolean', default: false, about: 'keeps the folder of the run' },
  },
});
const options: RunOptions = {
  seed: numberOf('seed', values.seed),
  minutes: numberOf('minutes', values.minutes),
  topology: topologyOf(values.topology),
  redisUrl: values.redis,
  jobs: numberOf('jobs', values.jobs),
  ...(values.kinds !== undefined && { kinds: kindsIn(values.kinds) }),
  persistence: values.forget ? 'memory' : 'aof',
  say: (line) => console.log(line),
};
if (options.redisUrl !== undefined) refuseUnfit(options.redisUrl, options.jobs > 0);
process.once('SIGINT', () => process.exit(130));
const judgeGrowth =
  !values.forget && (options.jobs >= MANY_JOBS || (options.jobs === 0 && options.minutes >= LONG_MINUTES));
const outcome = await run(options);
reportOf(outcome, judgeGrowth).forEach((line) => console.log(line));
const held = passes(outcome, judgeGrowth);
if (held && !values.keep) rmSync(outcome.folder, { recursive: true });
process.exit(held ? 0 : 1);

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0)) {
    console.error(`--${name}: expected a number from 0, found ${text}`);
    process.exit(2);
  }
  return value;
}

function topologyOf(text: string): Topology {
  const servers = text !== 'single' && (values.redis !== undefined || values.forget || values.jobs !== '0');
  if (!servers && (text === 'single' || text === 'sentinel' || text === 'cluster')) return text;
  console.error(
    servers
      ? '--topology: expected neither --redis nor --forget nor --jobs beside it: its servers are started here, for failovers'
      : `--topology: expected single, sentinel or cluster, found ${text}`,
  );
  return process.exit(2);
}

function kindsIn(text: string): FaultKind[] {
  const possible = kindsOf(topologyOf(values.topology), values.redis === undefined);
  const kinds = text.split(',');
  const unknown = kinds.filter((kind) => !possible.includes(kind as FaultKind));
  if (unknown.length === 0) return kinds as FaultKind[];
  console.error(`--kinds: expected some of ${possible.join(', ')}, found ${unknown.join(', ')}`);
  return process.exit(2);
}

/**
 * Exits if the address is unfit. Faults pass through a proxy, which cannot read TLS; a load without faults has no
 * proxy.
 */
function refuseUnfit(url: string, load: boolean): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : 'none';
  if (protocol === 'redis:' || (load && protocol === 'rediss:')) return;
  console.error(
    protocol === 'rediss:'
      ? '--redis: expected redis://, found rediss://: faults pass through a proxy, which cannot read TLS; ' +
          'give an address without TLS, or --jobs N for a load without faults'
      : '--redis: expected redis://user:password@host:port/db, found another kind of address',
  );
  process.exit(2);
}
