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
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => void lengthen(name, (forMs) => post('queue/act', { action: 'pause', queue: name, forMs }))}
        >
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

/** Asks for a later end of a pause, and sends it. Returns true if the pause has it. Jobs stay held back meanwhile. */
export async function lengthen(name: string, send: (forMs: number) => Promise<{ done: number }>): Promise<boolean> {
  const forMs = await choose(
    { title: `Lengthen the pause of ${name}?`, body: 'It ends this long from now.', destroys: false },
    LATER_ENDS,
  );
  const reply = forMs === null ? undefined : await tried(() => send(forMs));
  if (reply) {
    say(`The pause of ${name} ${reply.done > 0 ? 'is longer now' : 'ends later already, or is over'}.`);
  }
  return (reply?.done ?? 0) > 0;
}
