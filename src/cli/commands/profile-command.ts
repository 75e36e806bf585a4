import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { type ProfiledFunction, topFunctions } from '../../inspect/profile-top.js';
import { count } from '../../inspect/words.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS } from '../../queue/model/actions.js';
import { PROFILE_ENDINGS, type ProfileKind, type ProfileRecord } from '../../queue/model/profile.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { Interruption } from '../live/interruption.js';
import { timeSpan } from '../numbers.js';
import type { Output } from '../output.js';
import { lines, text } from '../text.js';

/** The time between two looks whether the profile is there, in ms. */
const LOOK_EVERY_MS = 1_000;

/** Adds the command that measures a job. */
export function addProfile(program: Command, run: Run): void {
  program
    .command('profile <queue> [name]')
    .description(ACTIONS.profile.command.text)
    .option('--heap', 'measures which functions allocate the memory')
    .option('--for <time>', 'measures at most this long, such as 10s or 5m (default: 30s)')
    .option('--out <file>', 'the file of the profile (default: that of the queue)')
    .option('--top', 'shows the functions that took most, and writes no file')
    .option('--ask', 'asks for one, and does not wait for it')
    .option('--last', 'asks for none, and takes the last one')
    .action(run(profile));
}

async function profile({ session, out }: Context, [name, job]: string[], options: CommandOptions): Promise<void> {
  const { heap, for: time, out: file, last, ask, top } = options;
  if (last && (heap || time !== undefined || job !== undefined || ask)) {
    throw new CliError('--last takes what is there; use it without a name, --heap, --for and --ask.', EXIT.usage);
  }
  if (ask && top) {
    throw new CliError(
      '--ask waits for no profile, so --top has none to show. Use it with --last later.',
      EXIT.usage,
    );
  }
  if (file !== undefined && (ask || top)) {
    throw new CliError('--ask and --top write no file; use them without --out.', EXIT.usage);
  }
  const queue = await session.known(name!);
  if (!last) {
    const kind: ProfileKind = heap ? 'heap' : 'cpu';
    const asked = await queue.profiles.request({ name: job, kind, forMs: timeSpan('for', time as string) });
    if (ask) {
      return out.show(asked, () => 'asked; workers learn of it within 20 s. --last takes it then');
    }
    const { id } = asked;
    out.tell(
      'Workers learn of it within 20 s, and measure the next job. Ctrl+C leaves it to them: --last downloads it.',
    );
    if (!(await isOver(session, queue, id))) {
      return;
    }
  }
  const { record, json } = await queue.profiles.download();
  if (top) {
    return show(out, record, topFunctions(queue.name, record.kind, json));
  }
  const path =
    (file as string | undefined) ?? `${queue.name.replaceAll(/[^\w.-]/g, '-')}.${PROFILE_ENDINGS[record.kind]}`;
  await writeFile(path, json);
  out.show({ ...record, file: path }, () =>
    lines([
      text`${path}: job ${record.jobId ?? ''}, attempt ${String(record.attempt ?? '')}, ${count(json.length)} bytes`,
      'Open it in Chrome (DevTools, Performance or Memory), or in speedscope.',
    ]),
  );
}

/** Shows the functions that took most. */
function show(out: Output, record: ProfileRecord, functions: readonly ProfiledFunction[]): void {
  const rows = functions.map(({ share, name, place }) => [`${(share * 100).toFixed(1)} %`, name, place]);
  const what = record.kind === 'cpu' ? 'time' : 'memory';
  out.show({ ...record, functions }, () => out.table([what, 'function', 'place'], rows));
}

/** Waits until a request is over. Returns false if somebody has ended the command. @throws CliError if nothing took it */
async function isOver(session: Context['session'], queue: JobQueue, id: string): Promise<boolean> {
  const interruption = new Interruption(session);
  try {
    for (;;) {
      const found = await queue.profiles.get();
      if (found?.id !== id) {
        throw new CliError(
          'The request is over without a profile: no job came within ten minutes, or its worker died.',
          EXIT.failed,
        );
      }
      if (found.endedAt) {
        return true;
      }
      await interruption.rest(LOOK_EVERY_MS);
      if (interruption.isOver) {
        await interruption.over; // throws where Redis is away
        return false;
      }
    }
  } finally {
    interruption.close();
  }
}
