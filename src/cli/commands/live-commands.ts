import type { Command } from 'commander';
import type { JobEvent } from '../../queue/model/job-event.js';
import type { Context, Run } from '../context.js';
import { Interruption, showRepeatedly, type Shown } from '../show-repeatedly.js';
import { jsonOf, overviewText, type ShownVerdicts } from '../overview-text.js';
import { readOverview, type Overview } from '../overview.js';
import { wholeNumber } from '../numbers.js';
import { clipped, joined, padded, type Text } from '../text.js';

/** The interval of `stats --watch`, in ms. */
const WATCH_MS = '2000';

/** Adds the commands that run until they are interrupted. */
export function addLiveCommands(program: Command, run: Run): void {
  program
    .command('tail <queue>')
    .description('prints the events of a queue as they occur')
    .option('--count <n>', 'ends after this many events')
    .action(run(tail));
  program
    .command('stats [queue]')
    .description('depths, ages, rates and counters of a queue, or of all')
    .option('--watch [ms]', `repeats at this interval in ms (default: ${WATCH_MS})`)
    .option('--count <n>', 'with --watch: ends after this many reads')
    .action(run(stats));
  program
    .command('top [queue]')
    .description('a live view of the queues')
    .option('--every <ms>', 'the interval of its reads', '1000')
    .option('--count <n>', 'ends after this many reads')
    .action(run(top));
}

async function stats(context: Context, [given]: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out } = context;
  const { name, watch } = watchedQueue(given, options['watch']);
  const { count } = options;
  const read = async () => shown(context, await readOverview(session, name), 'unreadable below');
  if (watch === undefined) {
    out.show(...(await read()));
    return;
  }
  const every = wholeNumber('watch', watch);
  await showRepeatedly(context, { every, count }, read);
}

/** Takes the word after `--watch` for the queue where no other names one, and the word is no interval. */
function watchedQueue(name: string | undefined, watch: unknown): { name?: string; watch?: string } {
  if (typeof watch !== 'string') {
    return { name, watch: watch === true ? WATCH_MS : undefined };
  }
  return name === undefined && !/^\d+$/.test(watch) ? { name: watch, watch: WATCH_MS } : { name, watch };
}

async function top(context: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const every = wholeNumber('every', options['every'] as string);
  await showRepeatedly(context, { every, count: options['count'] }, async () =>
    shown(context, await readOverview(context.session, name), 'worst above'),
  );
}

function shown({ session, out }: Context, overview: Overview, verdicts: ShownVerdicts): Shown {
  return [jsonOf(overview), () => overviewText(overview, session.noQueues().message, out, verdicts)];
}

async function tail({ session, out }: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const queue = await session.known(name!);
  const most = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  const content = await session.shownBy(queue);
  const interruption = new Interruption(session);
  session.reconnects = true;
  let seen = 0;
  try {
    const subscribing = queue.store.subscribe(await queue.calls(), (published) => {
      const event = content.event(queue.name, published);
      if (seen < most) {
        seen++;
        out.line({ queue: queue.name, ...event }, () => eventLine(queue.name, event));
      }
      if (seen >= most) interruption.end();
    });
    if (most === 0) interruption.end();
    const stop = await Promise.race([subscribing, interruption.over]);
    out.tell(`Listening to ${queue.name}; Ctrl+C ends it.`);
    await interruption.over;
    stop?.();
  } finally {
    session.reconnects = false;
    interruption.close();
  }
}

/** Returns an event with its attempt, its error and its content, as far as it carries them. */
function eventLine(queue: string, { id, name, status, attempt, error, progress, result }: JobEvent): Text {
  const content = progress ?? result;
  const parts = [
    new Date().toISOString().slice(11, 23),
    padded(clipped(status, 40), 10),
    clipped(name ?? queue, 40),
    clipped(id, 60),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    ...(error === undefined ? [] : [clipped(error, 80)]),
    ...(content === undefined ? [] : [clipped(JSON.stringify(content), 80)]),
  ];
  return joined(parts, '  ');
}
