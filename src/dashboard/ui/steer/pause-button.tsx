import type { QueueView } from '../../views/views.js';
import { choose, type Choice } from '../parts/confirm.js';
import { askPause, MINUTE_MS } from './ask-pause.js';
import { say, tried } from '../parts/toasts.js';
import { type Problem, post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';

/** The later ends of a pause. */
const LATER_ENDS: readonly [Choice<number>, ...Choice<number>[]] = [
  { value: 60 * MINUTE_MS, words: 'For an hour', verb: 'Lengthen to an hour' },
  { value: 120 * MINUTE_MS, words: 'For 2 hours', verb: 'Lengthen to 2 hours' },
  { value: 720 * MINUTE_MS, words: 'For 12 hours', verb: 'Lengthen to 12 hours' },
  { value: 1_440 * MINUTE_MS, words: 'For a day', verb: 'Lengthen to a day' },
];

/** Pauses or resumes the queue, with why and for how long. */
export function PauseButton({ queue }: { queue: QueueView }) {
  const { name, pausedAt, pausedUntil } = queue;
  const action = pausedAt === null ? 'pause' : 'resume';
  if (!may(action)) {
    return null;
  }
  return (
    <>
      {pausedUntil !== null && may('pause') && (
        <button type="button" disabled={unreachable.value} onClick={() => void lengthen(name)}>
          Lengthen the pause
        </button>
      )}
      <button
        type="button"
        class={action === 'resume' ? 'primary' : ''}
        disabled={unreachable.value}
        onClick={() => void pauseOrResume(queue)}
      >
        {action === 'pause' ? 'Pause the queue' : 'Resume the queue'}
      </button>
    </>
  );
}

/** Resumes a paused queue. Pauses another one if the user agrees. */
export async function pauseOrResume({ name, pausedAt }: QueueView): Promise<void> {
  try {
    if (pausedAt !== null) {
      await post('queue/act', { action: 'resume', queue: name });
      say(`${name} hands out jobs again.`);
    } else {
      const chosen = await askPause(
        `the queue ${name}`,
        'It takes jobs in and hands none out, in the whole fleet.',
      );
      if (chosen) {
        await post('queue/act', { action: 'pause', queue: name, ...chosen });
        say(`${name} is paused.`);
      }
    }
  } catch (error) {
    say((error as Problem).message, true);
  }
}

/** Asks for a later end of a pause. The queue stays paused meanwhile. */
async function lengthen(queue: string): Promise<void> {
  const forMs = await choose(
    { title: `Lengthen the pause of ${queue}?`, body: 'It ends this long from now.', destroys: false },
    LATER_ENDS,
  );
  if (forMs !== null) {
    const outcome = await tried(async () => {
      const { done } = await post<{ done: number }>('queue/act', { action: 'pause', queue, forMs });
      return done > 0 ? `${queue} stays paused.` : `${queue} keeps its pause, which ends later or is over.`;
    });
    if (outcome) say(outcome);
  }
}
