import type { Command } from 'commander';
import type { JobEvent } from '../../queue/model/job-event.js';
import { eachShard } from '../../spread/whole-queue.js';
import type { Context, Run } from '../context.js';
import { Interruption } from '../live/interruption.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { joined, padded, type Text } from '../text.js';

/** Adds the command that prints events. */
export function addTail(program: Command, run: Run): void {
  program
    .command('tail <queue>')
    .description('prints the events of a queue as they occur')
    .option('--count <n>', 'ends after this many events')
    .action(run(tail));
}

async function tail({ session, out }: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const queue = await session.known(name!);
  const most = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  const content = await session.shownBy(queue);
  const interruption = new Interruption(session);
  session.reconnects = true;
  let seen = 0;
  try {
    const heard = (published: JobEvent) => {
      const event = content.event(queue.name, published);
      if (seen < most) {
        seen++;
        out.line({ queue: queue.name, ...event }, () => eventLine(queue.name, event, out));
      }
      if (seen >= most) interruption.end();
    };
    const subscribing = eachShard(queue, async (shard) => shard.store.subscribe(await shard.calls(), heard));
    // The subscriptions may be confirmed only after the end of the command.
    const unsubscribe = () => subscribing.then((stops) => stops.forEach((stop) => stop())).catch(() => undefined);
    void interruption.over.then(unsubscribe, unsubscribe);
    if (most === 0) interruption.end();
    await Promise.race([subscribing, interruption.over]);
    out.tell(`Listening to ${queue.name}; Ctrl+C ends it.`);
    await interruption.over;
  } finally {
    session.reconnects = false;
    interruption.close();
  }
}

/** Returns an event with its attempt, its error and its content, as far as it carries them. */
function eventLine(queue: string, event: JobEvent, out: Output): Text {
  const { id, name, status, attempt, error, progress, result } = event;
  const content = progress ?? result;
  const parts = [
    new Date().toISOString().slice(11, 23),
    padded(out.clipped(status, 40), 10),
    out.clipped(name ?? queue, 40),
    out.clipped(id, 60),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    ...(error === undefined ? [] : [out.clipped(error, 80)]),
    ...(content === undefined ? [] : [out.clipped(JSON.stringify(content), 80)]),
  ];
  return joined(parts, '  ');
}
