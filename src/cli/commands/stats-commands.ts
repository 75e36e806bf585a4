import { RateWindow } from '../../inspect/rate-window.js';
import type { Command } from 'commander';
import type { Context, Run } from '../context.js';
import { showRepeatedly, type Shown } from '../live/show-repeatedly.js';
import { TopView } from '../live/top-view.js';
import { jsonOf, overviewText, readOverview, type Overview } from '../overview.js';
import { wholeNumber } from '../numbers.js';

/** The interval of `stats --watch`, in ms. */
const WATCH_MS = '2000';

/** Adds the commands that show the figures of queues. */
export function addStatsCommands(program: Command, run: Run): void {
  program
    .command('stats [queue]')
    .description('shows depths, ages, rates and counters of a queue, or of all')
    .option('--watch [ms]', `repeats at this interval in ms (default: ${WATCH_MS})`)
    .option('--count <n>', 'with --watch: ends after this many reads')
    .action(run(stats));
  program
    .command('top [queue]')
    .description('shows the queues live')
    .option('--every <ms>', 'the interval of its reads', '1000')
    .option('--count <n>', 'ends after this many reads')
    .action(run(top));
}

async function stats(context: Context, [given]: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out } = context;
  const { name, watch } = watchedQueue(given, options['watch']);
  const { count } = options;
  const window = watch === undefined ? undefined : new RateWindow();
  const read = async () => shown(context, await readOverview(session, name, window));
  if (watch === undefined) {
    out.show(...(await read()));
    return;
  }
  const every = wholeNumber('watch', watch);
  await showRepeatedly(context, { every, count }, { read });
}

/** Takes the word after `--watch` for the queue where no other names one, and the word is no interval. */
function watchedQueue(name: string | undefined, watch: unknown): { name?: string; watch?: string } {
  if (typeof watch !== 'string') {
    return { name, watch: watch === true ? WATCH_MS : undefined };
  }
  return name === undefined && !/^\d+(ms|[smhd])?$/.test(watch)
    ? { name: watch, watch: WATCH_MS }
    : { name, watch };
}

async function top(context: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const every = wholeNumber('every', options['every'] as string);
  await showRepeatedly(context, { every, count: options['count'] }, new TopView(context, name));
}

function shown({ session, out }: Context, overview: Overview): Shown {
  const none = session.noQueues().message;
  return [jsonOf(overview), () => overviewText(overview, none, out, { verdicts: 'unreadable below' })];
}
