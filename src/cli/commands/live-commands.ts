import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { JobEvent } from '../../queue/model/job-event.js';
import { verdictOf } from '../../inspect/verdict.js';
import { CliError, EXIT } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import { clipped, joined, lines, padded, type Part, type Text } from '../text.js';
import type { Context, Run } from '../context.js';
import { signsOf, statsOf, statsTable, verdictText } from './read-commands.js';

/** The commands that go on until they are interrupted. */
export function addLiveCommands(program: Command, run: Run): void {
  program
    .command('tail <queue>')
    .description('prints what happens to the jobs of a queue, as it happens')
    .option('--count <n>', 'ends after so many events')
    .action(run(tail));
  program
    .command('stats [queue]')
    .description('depths, ages and counters of a queue, or of all')
    .option('--watch [ms]', 'again and again, every so many ms (default: 2000)')
    .option('--count <n>', 'with --watch: ends after so many looks')
    .action(run(stats));
  program
    .command('top [queue]')
    .description('a live view of the queues')
    .option('--every <ms>', 'how often it looks', '1000')
    .option('--count <n>', 'ends after so many looks')
    .action(run(top));
}

async function stats(context: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out } = context;
  const { watch, count } = options;
  if (watch === undefined) {
    const signs = await signsOf(session, name);
    out.show(statsOf(signs), () => statsTable(signs, out));
    return;
  }
  const every = watch === true ? '2000' : watch;
  await looks(context, { every, count }, async () => {
    const signs = await signsOf(session, name);
    return [statsOf(signs), () => statsTable(signs, out)];
  });
}

async function tail({ session, out }: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const queue = session.queue(name!);
  const most = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  const { ended, interrupt } = untilInterrupted(session.client);
  let seen = 0;
  const stop = await queue.store.subscribe(await queue.calls(), (event) => {
    if (seen < most) {
      seen++;
      out.line({ queue: queue.name, ...event }, () => eventLine(queue.name, event));
    }
    if (seen >= most) interrupt();
  });
  process.stderr.write(`Listening to ${queue.name}; Ctrl+C ends it.\n`);
  await ended;
  stop();
}

/** Returns an event with its attempt, its error and its content, as far as it carries them. */
function eventLine(queue: string, { id, name, status, attempt, error, progress, result }: JobEvent): Text {
  const content = progress ?? result;
  const told = [
    new Date().toISOString().slice(11, 23),
    padded(clipped(status, 40), 10),
    clipped(name ?? queue, 40),
    clipped(id, 60),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    ...(error === undefined ? [] : [clipped(error, 80)]),
    ...(content === undefined ? [] : [clipped(JSON.stringify(content), 80)]),
  ];
  return joined(told, '  ');
}

async function top(context: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out } = context;
  await looks(context, options, async () => {
    const signs = await signsOf(session, name);
    const wrong = signs.map(verdictOf).filter(({ severity }) => severity !== 'ok');
    return [
      statsOf(signs),
      () => lines([statsTable(signs, out), ...(wrong.length > 0 ? ['', verdictText(wrong, out)] : [])]),
    ];
  });
}

/** Shows what `look` says again and again, until it is interrupted. */
async function looks(
  { session, out }: Context,
  options: Record<string, unknown>,
  look: () => Promise<[value: unknown, words: () => Part]>,
): Promise<void> {
  const every = Math.max(100, wholeNumber('every', options['every'] as string) ?? 1_000);
  const most = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  const { ended } = untilInterrupted(session.client);
  const state = { isOver: false };
  const over = ended.finally(() => (state.isOver = true));
  over.catch(() => undefined);
  out.clear();
  for (let i = 1; !state.isOver; i++) {
    out.redraw(...(await look()));
    if (i >= most) return;
    await Promise.race([sleep(every), over]);
  }
  await over;
}

/** Resolves at Ctrl+C; rejects where Redis goes away. */
function untilInterrupted(client: { once(event: 'close', listener: () => void): unknown }) {
  let interrupt!: () => void;
  const ended = new Promise<void>((resolve, reject) => {
    interrupt = resolve;
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
    client.once('close', () => reject(new CliError('The connection to Redis was cut.', EXIT.unreachable)));
  });
  ended.catch(() => undefined); // it is awaited later, or the command is over
  return { ended, interrupt };
}
