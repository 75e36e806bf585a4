import { parseArgs } from 'node:util';

export const USAGE = `Usage: main.js [flags]
  --host HOST            where to listen (SHOP_HOST, else 127.0.0.1)
  --port PORT            (PORT, else 3000)
  --redis-host HOST      (localhost; REDIS_URL names the whole address)
  --redis-port PORT      (6379)
  --visibility-ms MS     how long a claim lasts (5000)
  --reclaim-ms MS        how often expired claims are reclaimed; 0: only when asked (0)
  --workers N            worker processes at the start, 0 to 8 (0)
  --queue-name NAME      (jobs)
  --first-jobs           enqueues a job of each kind at the start
  --story                the first page tells the story of a crash by itself, once
  --seeds                fills the dashboard: five queues beside the shop's, with an hour of history. Only on a Redis
                         that \`npm start\` started for this run
  -h, --help             prints this`;

export interface Flags {
  host: string;
  port: string;
  workers: number;
  firstJobs: boolean;
  story: boolean;
  help: boolean;
}

/**
 * Reads the command line. Values that all processes of the shop need go to the environment, which workers inherit. The
 * defaults are those of the Redis pattern's demo server, except for the port. `npm start` sets more.
 *
 * @throws Error that says what was expected
 */
export function readFlags(args: string[], env = process.env): Flags {
  const text = { type: 'string' } as const;
  const { values } = withUsage(() =>
    parseArgs({
      args,
      options: {
        host: text,
        port: text,
        'redis-host': text,
        'redis-port': text,
        'visibility-ms': text,
        'reclaim-ms': text,
        workers: text,
        'queue-name': text,
        'first-jobs': { type: 'boolean' },
        seeds: { type: 'boolean' },
        story: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }),
  );
  const number = (
    flag: Exclude<keyof typeof values, 'first-jobs' | 'seeds' | 'story' | 'help'>,
    from: number,
    to: number,
  ) => {
    const value = values[flag];
    if (value !== undefined && !(/^\d+$/.test(value) && Number(value) >= from && Number(value) <= to)) {
      throw new Error(`--${flag}: expected a whole number from ${from} to ${to}, found "${value}".\n${USAGE}`);
    }
    return value;
  };
  if (values['redis-host'] !== undefined || values['redis-port'] !== undefined) {
    env.REDIS_URL = `redis://${values['redis-host'] ?? 'localhost'}:${number('redis-port', 1, 65_535) ?? 6379}`;
  }
  env.SHOP_VISIBILITY_MS = number('visibility-ms', 100, 3_600_000) ?? env.SHOP_VISIBILITY_MS ?? '';
  env.SHOP_RECLAIM_MS = number('reclaim-ms', 0, 3_600_000) ?? env.SHOP_RECLAIM_MS ?? '0';
  env.SHOP_QUEUE = values['queue-name'] ?? env.SHOP_QUEUE ?? '';
  env.SHOP_SEEDS = values.seeds && env.REDIS_THROWAWAY === 'yes' ? 'yes' : 'no';
  return {
    // Not HOST: some shells export it, and the shop would be open to the network.
    host: values.host ?? env.SHOP_HOST ?? '127.0.0.1',
    port: number('port', 0, 65_535) ?? (env.PORT || '3000'),
    workers: Number(number('workers', 0, 8) ?? 0),
    firstJobs: values['first-jobs'] ?? false,
    story: values.story ?? false,
    help: values.help ?? false,
  };
}

function withUsage<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`, { cause: error });
  }
}
