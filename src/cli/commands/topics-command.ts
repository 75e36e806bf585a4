import { Argument, type Command } from 'commander';
import { PUBLICATIONS } from '../../queue/model/topic.js';
import type { ListedSubscription, Topics } from '../../queue/operate/topics.js';
import type { Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { refusedByCode } from '../failure.js';
import type { Output } from '../output.js';
import { text } from '../text.js';

/** Adds the command that lists the subscriptions of topics, and ends one. */
export function addTopics(program: Command, run: Run): void {
  program
    .command('topics [topic]')
    .addArgument(new Argument('[action]', 'what to do with one of them').choices(['remove']))
    .argument('[subscription]', 'which one')
    .description('lists the subscriptions of a topic, or of all; removes one whose code is gone')
    .action(
      run(async (context, [topic, action, subscription]) => {
        const { topics } = context.session.queue(PUBLICATIONS);
        if (action === undefined) {
          show(context.out, await topics.list(topic));
        } else if (subscription === undefined) {
          throw new CliError(`Pass the subscription to ${action}.`, EXIT.usage);
        } else {
          await remove(context, topics, topic!, subscription);
        }
      }),
    );
}

function show(out: Output, subscriptions: readonly ListedSubscription[]): void {
  const rows = subscriptions.map(({ topic, name, queue, since, isHandled }) => [
    topic,
    name,
    queue,
    out.ago(since),
    stateOf(isHandled),
  ]);
  out.show(subscriptions, () => out.table(['topic', 'subscription', 'queue', 'since', 'state'], rows));
}

function stateOf(isHandled: boolean | null): string {
  if (isHandled === null) {
    return 'not known: its queue gave no reply';
  }
  return isHandled ? 'handled' : 'no live worker has its handler';
}

async function remove(
  { out, confirm }: Context,
  topics: Topics,
  topic: string,
  subscription: string,
): Promise<void> {
  await confirm(() => text`remove subscription ${subscription} of topic ${topic}`);
  const isRemoved = await topics.remove(topic, subscription).catch(refusedByCode);
  if (!isRemoved) {
    const missing = `Topic ${JSON.stringify(topic)} has no subscription ${JSON.stringify(subscription)}.`;
    throw new CliError(missing, EXIT.notFound);
  }
  out.show({ topic, subscription, outcome: 'removed' }, () => 'removed');
}
