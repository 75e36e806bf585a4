import { checkKnown } from '../model/validate-options.js';
import { InvalidOptionError } from '../model/errors.js';
import { show } from '../model/names.js';
import type { QueueCalls } from '../store/queue-calls.js';
import type { ScriptCall } from '../redis/script-runner.js';

/** The most jobs that one script call deletes. */
const SLICE = 500;

/** The queue that is emptied. */
interface PurgedQueue {
  readonly name: string;
  run<Answer>(call: ScriptCall<Answer>): Promise<Answer>;
  scripts(): Promise<QueueCalls>;
}

/**
 * Deletes all jobs of a queue, in bounded slices; see JobQueue.purge.
 *
 * @param ask what each question to Redis goes through, for a time limit of the caller's
 * @throws InvalidOptionError
 */
export async function purge(
  queue: PurgedQueue,
  options: { confirm: string },
  ask: <Answer>(question: () => Promise<Answer>) => Promise<Answer> = (question) => question(),
): Promise<number> {
  checkKnown('purge', options, ['confirm']);
  const { confirm } = options;
  if (confirm !== queue.name) {
    throw new InvalidOptionError('purge confirm', `the queue's name, ${JSON.stringify(queue.name)}`, show(confirm));
  }
  const scripts = await ask(() => queue.scripts());
  let total = 0;
  for (;;) {
    const { deleted, more } = await ask(() => queue.run(scripts.purge(SLICE)));
    total += deleted;
    if (!more) {
      return total;
    }
  }
}
