import { ClaimLostError } from '../../queue/errors/errors.js';
import type { Attempt } from './attempt.js';
import { publishEvent } from '../reports/publish-event.js';
import type { AttemptStarter } from './start-attempt.js';

/** The runner whose attempt is in trouble, and its observer. */
type Troubled = Pick<AttemptStarter, 'queue' | 'calls' | 'observer'> & { readonly name: string };

/** Reports a lost claim of a running job to the log, the listeners and the fleet. */
export function reportLost(runner: Troubled, attempt: Attempt): void {
  const { observer, name } = runner;
  observer.warn(`${new ClaimLostError(attempt.id).message} (queue "${name}")`);
  observer.emit?.({ type: 'lost', job: attempt.job });
  void publishEvent(runner, attempt.claim, 'lost', observer.warn);
}

/** Reports a handler that continues after its signal aborted to the log, the listeners and the fleet. */
export function reportStuck(runner: Troubled, attempt: Attempt): void {
  const { observer, name } = runner;
  observer.warn(
    `The handler of job ${attempt.id} (${attempt.job.name}) of queue "${name}" goes on although its signal was ` +
      'aborted, and keeps its slot. Pass job.signal to every call that the handler makes.',
  );
  observer.emit?.({ type: 'stuck', job: attempt.job });
  void publishEvent(runner, attempt.claim, 'stuck', observer.warn);
}
