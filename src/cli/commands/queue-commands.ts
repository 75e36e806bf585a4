import type { Command } from 'commander';
import { worstOf } from '../../inspect/verdict.js';
import { count, duration } from '../../inspect/words.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS } from '../../queue/model/actions.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import { wholesOf } from '../../queue/model/spread.js';
import { eachShard, shardsOf } from '../../spread/whole-queue.js';
import type { Run } from '../context.js';
import { CliError, EXIT, exitOf } from '../exit-codes.js';
import { timeSpan, wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { judgeOutbox, outboxText } from './outbox-command.js';
import { healthText, serverText, readOverview } from '../overview.js';
import { lines, text, type Text } from '../text.js';

/** Adds the commands for whole queues. */
export function addQueueCommands(program: Command, run: Run, env: NodeJS.ProcessEnv): void {
  program
    .command('queues')
    .description('lists the queues')
    .action(
      run(async ({ session, out }) => {
        const names = wholesOf(await session.queueNames());
        out.show(names, () => (names.length > 0 ? lines(names) : session.noQueues().message));
      }),
    );
  program
    .command('health [queue]')
    .description(
      'says in words whether work flows; the exit code says how bad it is: 0, 10 or 20; 3 without a queue',
    )
    .option('--outbox', 'also looks at the outbox; its database is in DATABASE_URL')
    .option('--database <url>', 'with --outbox: its database, without a password')
    .action(
      run(async ({ session, out, exit }, [name], options) => {
        const database = options['database'] as string | undefined;
        if (database !== undefined && options['outbox'] !== true) {
          throw new CliError('Pass --database only with --outbox.', EXIT.usage);
        }
        const [{ server, queues }, outbox] = await Promise.all([
          readOverview(session, name),
          options['outbox'] === true ? judgeOutbox(env, database) : undefined,
        ]);
        const verdicts = queues.map(({ verdict }) => verdict);
        const severity = worstOf([...(server ? [server] : []), ...(outbox ? [outbox] : []), ...verdicts]);
        if (verdicts.length === 0 && severity === 'ok') {
          throw session.noQueues(server); // a probe beside the wrong database must not be green
        }
        exit(exitOf(severity));
        const words = () => (verdicts.length > 0 ? healthText(verdicts, out) : [session.noQueues().message]);
        out.show({ severity, server: server ?? null, ...(outbox && { outbox }), queues: verdicts }, () =>
          lines([...serverText(server, out), ...(outbox ? outboxText(outbox, out) : []), ...words()]),
        );
      }),
    );
  addPauses(program, run);
  addDoctor(program, run);
}

function addPauses(program: Command, run: Run): void {
  program
    .command('pause <queue>')
    .description(ACTIONS.pause.command.text)
    .option('--group <name>', 'only one group of the queue')
    .option('--reason <text>', 'why, for other operators')
    .option(
      '--for <time>',
      'ends the pause by itself, such as 15m or 2h; without it somebody must resume the queue',
    )
    .option('--by <name>', 'who pauses it; without it the user of this machine')
    .action(
      run(async ({ session, out, user }, [name], given) => {
        const queue = await session.known(name!);
        const asked = given as Record<'group' | 'reason' | 'by' | 'for', string | undefined>;
        const { group, reason, by = user } = asked;
        const forMs = timeSpan('for', asked.for);
        const options: PauseOptions = {
          ...(by !== undefined && { by }),
          ...(reason !== undefined && { reason }),
          ...(forMs !== undefined && { forMs }),
        };
        const changed = await (group === undefined
          ? queue.pause(options)
          : someChanged(queue, (each) => each.groups.pause(group, options)));
        const done = forMs === undefined ? 'paused' : `paused for ${duration(forMs)}`;
        const { pausedUntil } = changed ? {} : await pauseOf(queue, group);
        const already = pausedUntil
          ? `was paused already, until ${pausedUntil.toISOString()}`
          : 'was paused already';
        showChange(out, { queue: name!, group, changed, unreached: session.shards.unreached }, [done, already]);
      }),
    );
  program
    .command('resume <queue>')
    .description(ACTIONS.resume.command.text)
    .option('--group <name>', 'only one group of the queue')
    .option('--first <n>', 'starts only n jobs; `limits --clear` starts the rest')
    .option('--rate <n>', 'starts at most n jobs in a second, until `limits --clear`')
    .action(
      run(async ({ session, out, confirm }, [name], options) => {
        const queue = await session.known(name!);
        const { group, first, rate } = options as Record<'group' | 'first' | 'rate', string | undefined>;
        const how = {
          ...(first !== undefined && { first: wholeNumber('first', first) }),
          ...(rate !== undefined && { perSecond: wholeNumber('rate', rate) }),
        };
        if (group !== undefined && Object.keys(how).length > 0) {
          throw new CliError(
            '--first and --rate limit the whole queue. Leave them out beside --group.',
            EXIT.usage,
          );
        }
        if (shardsOf(queue).length > 1 && Object.keys(how).length > 0) {
          throw new CliError(
            '--first and --rate limit one shard. Resume the shards of the queue one by one, by --shard.',
            EXIT.usage,
          );
        }
        const { waiting, ...paused } = await pauseOf(queue, group);
        if (paused.pausedAt && (paused.pauseReason !== undefined || waiting > 0)) {
          const onlyOnTerminal = paused.pauseReason === undefined;
          await confirm(() => resumeQuestion(group ?? name!, { ...paused, waiting }, out, how.first), {
            onlyOnTerminal,
          });
        }
        const changed = await (group === undefined
          ? queue.resume(how)
          : someChanged(queue, (each) => each.groups.resume(group)));
        const already = Object.keys(how).length > 0 ? 'was not paused, so its limits stay' : 'was not paused';
        showChange(out, { queue: name!, group, changed, unreached: session.shards.unreached }, [
          'resumed',
          already,
        ]);
      }),
    );
}

/** Changes a group in all shards, because its shard follows from their number, which a command may not know. */
async function someChanged(queue: JobQueue, change: (shard: JobQueue) => Promise<boolean>): Promise<boolean> {
  return (await eachShard(queue, change)).includes(true);
}

/** Returns the pause of a queue or a group, and how many jobs wait for its end. It is that of a paused shard, if there is one. */
async function pauseOf(queue: JobQueue, group: string | undefined) {
  const all = await eachShard(queue, async (each) => (group === undefined ? each.stats() : each.groups.get(group)));
  const paused = all.filter(({ pausedAt }) => pausedAt !== null);
  const waiting = paused.reduce((sum, { pending }) => sum + pending, 0);
  return { ...(paused[0] ?? all[0]), waiting };
}

/** Returns the question before a resume: who paused it, since when and why, and how many jobs start. */
function resumeQuestion(
  what: string,
  paused: { pausedAt: Date | null; pausedBy?: string; pauseReason?: string; waiting: number },
  out: Output,
  first = Infinity,
): Text {
  const { pausedAt, pausedBy, pauseReason, waiting } = paused;
  const by = pausedBy === undefined ? '' : text` by ${pausedBy}`;
  const why = pauseReason === undefined ? '' : text`: ${pauseReason}`;
  const starts = Math.min(first, waiting);
  return text`resume ${what}, paused${by} ${out.ago(pausedAt)}${why}; ${count(starts)} ${starts === 1 ? 'job starts' : 'jobs start'}`;
}

function showChange(
  out: Output,
  {
    queue,
    group,
    changed,
    unreached,
  }: { queue: string; group: string | undefined; changed: boolean; unreached: ReadonlyMap<string, string> },
  [done, already]: readonly [string, string],
): void {
  const left = unreached.size > 0 && { unreached: [...unreached.keys()] };
  out.show({ queue, ...(group !== undefined && { group }), changed, ...left }, () => (changed ? done : already));
}

function faultsIn(found: number): string {
  return found === 0 ? 'all well' : `${count(found)} ${found === 1 ? 'fault' : 'faults'}`;
}

function addDoctor(program: Command, run: Run): void {
  program
    .command('doctor <queue>')
    .description('audits a queue beside live traffic; the exit code is 10 if faults are left')
    .option('--repair', 'repairs the damage that it finds')
    .action(
      run(async ({ session, out, confirm, progress, exit }, [name], { repair }) => {
        const queue = await session.known(name!);
        if (repair) {
          await confirm(() => text`repair what is found in ${name!}`);
        }
        const started = performance.now();
        const seconds = () => Math.round((performance.now() - started) / 1_000);
        const report = await progress.during(
          queue.doctor({ repair: repair === true }),
          'seconds passed:',
          undefined,
          seconds,
        );
        exit(report.findings.some(({ repaired }) => !repaired) ? EXIT.warning : EXIT.ok);
        const rows = report.findings.map((each) => [
          each.kind,
          each.subject,
          each.found,
          each.expected,
          each.repaired ? 'yes' : 'no',
        ]);
        const head = `${count(report.checked)} ${report.checked === 1 ? 'job' : 'jobs'} looked at, ${faultsIn(rows.length)}`;
        const columns = ['fault', 'what', 'found', 'expected', 'repaired'];
        out.show(report, () =>
          lines([head, ...(rows.length > 0 ? [out.table(columns, rows, { whole: ['what'] })] : [])]),
        );
      }),
    );
}
