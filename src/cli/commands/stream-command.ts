import type { Command } from 'commander';
import { streamText } from '../../inspect/job-words.js';
import type { StreamItem } from '../../queue/model/job-stream.js';
import type { ShownContent } from '../../queue/store/shown-content.js';
import type { Context, Run } from '../context.js';
import { noJob } from '../exit-codes.js';
import { Interruption } from '../live/interruption.js';

/** Adds the command that prints what a job streams. */
export function addStream(program: Command, run: Run): void {
  program
    .command('stream <queue> <id>')
    .description('prints what a job has streamed')
    .option('--follow', 'goes on until the job has ended')
    .option('--after <item>', 'begins behind this item; --json prints the id of each')
    .action(run(stream));
}

async function stream(
  { session, out }: Context,
  [name, id]: string[],
  options: Record<string, unknown>,
): Promise<void> {
  const queue = await session.holder(name!, id!);
  const job = await queue.get(id!);
  if (!job) {
    throw noJob(name!, id!, await queue.outcome(id!));
  }
  const content = await session.shownBy(queue);
  const about = { id: id!, name: job.name, queue: queue.name };
  let last = '\n';
  const show = (item: StreamItem) => {
    const words = streamText(item, (chunk) => content.chunk(chunk, about));
    out.piece(shownItem(item, content, about), words);
    last = words.at(-1) ?? last;
  };
  const after = options['after'] as string | undefined;
  const isFollowed = options['follow'] === true;
  if (isFollowed) {
    // The state of the job says how it ended. Its error may quote what is hidden.
    const source = { awaitResult: () => Promise.resolve(null) };
    await follow(session, (signal) => queue.readStream(about.id, { after, signal }, source, true), show);
  } else {
    for await (const item of queue.storedStream(about.id, after)) show(item);
  }
  if (!out.json && last !== '\n') {
    out.piece(undefined, '\n');
  }
  if (isFollowed) {
    out.tell(`The job is ${(await queue.get(about.id))?.status ?? 'gone'}.`);
  }
}

/** Reads a stream until its job has ended, or somebody ends the command. */
async function follow(
  session: Context['session'],
  read: (signal: AbortSignal) => AsyncIterable<StreamItem>,
  show: (item: StreamItem) => void,
): Promise<void> {
  const interruption = new Interruption(session);
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  interruption.over.then(leave, leave);
  session.reconnects = true;
  try {
    for await (const item of read(leaving.signal)) {
      if (item.type !== 'result') show(item);
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
    await interruption.over; // throws where Redis is away
  } finally {
    session.reconnects = false;
    interruption.close();
  }
}

type About = Parameters<ShownContent['chunk']>[1];

/** Returns an item as JSON for programs has it. */
function shownItem(item: StreamItem, content: ShownContent, about: About): object {
  if (item.type !== 'chunk') {
    return item;
  }
  const { data, ...rest } = item;
  return data instanceof Uint8Array
    ? { ...rest, bytes: content.chunk(Buffer.from(data).toString('base64'), about) }
    : { ...rest, data: content.chunk(data, about) };
}
