import type { Command } from 'commander';
import type { Run } from '../context.js';
import { deathsOf } from '../../inspect/signs.js';
import { count, namesOf } from '../../inspect/words.js';
import { eachShard } from '../../spread/whole-queue.js';
import { lines, text } from '../text.js';

const HOUR_MS = 3_600_000;

/** Adds the command that lists workers. */
export function addWorkerCommands(program: Command, run: Run): void {
  program
    .command('workers <queue>')
    .description(
      'lists the worker processes that announced themselves within 30 s, the silent ones with the jobs that they hold, and those that died in the last hour',
    )
    .action(
      run(async ({ session, out }, [name]) => {
        const queue = await session.known(name!);
        const [workers, histories] = await Promise.all([
          queue.workers({ silent: true }),
          eachShard(queue, (shard) => shard.history.read({ lastMs: HOUR_MS })),
        ]);
        const silent = workers.filter(({ holds }) => holds !== undefined);
        const died = deathsOf(
          { ...histories[0], marks: histories.flatMap(({ marks }) => marks) },
          workers,
          HOUR_MS,
        );
        const rows = workers.map(({ id, host, app, version, startedAt, seenAt, slots, stuck, holds }) => [
          id,
          host ?? '–',
          app ?? '–',
          version ?? '–',
          out.ago(startedAt),
          out.ago(seenAt),
          slots ?? '–',
          stuck?.length ?? 0,
          ...(silent.length > 0 ? [holds === undefined ? 'live' : `silent, holds ${count(holds)}`] : []),
        ]);
        const state = silent.length > 0 ? ['state'] : [];
        const head = ['worker', 'host', 'app', 'version', 'started', 'seen', 'slots', 'stuck', ...state];
        const layout = { whole: ['worker'], dropped: ['host', 'app', 'version'] };
        const none = text`No worker of ${name!} announced itself within 30 s. Its jobs wait until one starts.`;
        const dead = died.map(({ worker, at, how, ran }) => [worker, out.ago(at), how, namesOf(ran)]);
        const deadHead = ['died', 'when', 'how', 'while it ran'];
        out.show(workers, () =>
          lines([
            ...(workers.length > silent.length ? [] : [none]),
            ...(rows.length > 0 ? [out.table(head, rows, layout)] : []),
            ...(dead.length > 0 ? ['', out.table(deadHead, dead, { whole: ['died'], dropped: ['how'] })] : []),
          ]),
        );
      }),
    );
}
