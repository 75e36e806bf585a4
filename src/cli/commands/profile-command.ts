import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { count } from '../../inspect/words.js';
import { ProfileError } from '../../queue/errors/errors.js';
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
    return showProfile(out, record, topFunctions(queue.name, record.kind, json));
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
function showProfile(out: Output, record: ProfileRecord, functions: readonly ProfiledFunction[]): void {
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

// The functions of a profile that took most, for who has no viewer at hand.

/** The most functions that are shown. */
const MOST_SHOWN = 20;

/** A function in a profile. */
interface ProfiledFunction {
  /** The name of the function, as V8 has it. */
  name: string;
  /** Its file and line; '' for one of V8. */
  place: string;
  /** Its own part of what was measured, without what it calls, from 0 to 1. */
  share: number;
}

const frame = z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() });
const cpuSchema = z.object({
  nodes: z.array(z.object({ id: z.number(), callFrame: frame })),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type HeapNode = { callFrame: z.output<typeof frame>; selfSize: number; children: HeapNode[] };
const heapNode: z.ZodType<HeapNode> = z.lazy(() =>
  z.object({ callFrame: frame, selfSize: z.number(), children: z.array(heapNode) }),
);
const heapSchema = z.object({ head: heapNode });

/** What V8 names without a file, although no code of the app ran: the waits, and the measurement itself. */
const NO_CODE = ['(idle)', 'dispatch'];

/**
 * Returns the functions of a profile that took most by themselves, the first the most.
 *
 * @throws ProfileError for a text that is no profile
 */
export function topFunctions(queue: string, kind: ProfileKind, json: string): ProfiledFunction[] {
  const parts = partsOf(kind, json);
  if (!parts) {
    throw new ProfileError(queue, 'failed', 'what is stored is no profile of V8. Ask for another one.');
  }
  const byFunction = new Map<string, ProfiledFunction>();
  let all = 0;
  for (const [{ functionName, url, lineNumber }, amount] of parts) {
    if (url === '' && NO_CODE.includes(functionName)) continue;
    all += amount;
    const name = functionName || '(anonymous)';
    const place = url === '' ? '' : `${url.replace(/^file:\/\//, '')}:${lineNumber + 1}`;
    const known = byFunction.get(`${name} ${place}`) ?? { name, place, share: 0 };
    known.share += amount;
    byFunction.set(`${name} ${place}`, known);
  }
  return [...byFunction.values()]
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share)
    .slice(0, MOST_SHOWN)
    .map((each) => ({ ...each, share: each.share / all }));
}

type FrameAmounts = [frame: z.output<typeof frame>, amount: number][];

/** Returns the functions of a profile with the time or the bytes of each. Undefined for another text. */
function partsOf(kind: ProfileKind, json: string): FrameAmounts | undefined {
  const value = parsed(json);
  if (kind === 'heap') {
    const heap = heapSchema.safeParse(value);
    return heap.success ? heapParts(heap.data.head) : undefined;
  }
  const cpu = cpuSchema.safeParse(value);
  if (!cpu.success) {
    return undefined;
  }
  const { nodes, samples, timeDeltas } = cpu.data;
  const times = new Map<number, number>();
  samples.forEach((id, i) => times.set(id, (times.get(id) ?? 0) + Math.max(0, timeDeltas[i] ?? 0)));
  return nodes.map(({ id, callFrame }) => [callFrame, times.get(id) ?? 0]);
}

function heapParts(head: HeapNode): FrameAmounts {
  const parts: FrameAmounts = [];
  const open = [head];
  for (let node = open.pop(); node; node = open.pop()) {
    parts.push([node.callFrame, node.selfSize]);
    open.push(...node.children);
  }
  return parts;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
