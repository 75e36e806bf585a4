import type { QueueView } from '../../views/views.js';
import { chooseWithNote, type Choice } from '../parts/confirm.js';
import { say } from '../parts/toasts.js';
import { type Problem, post } from '../state/api.js';
import { may } from '../state/live.js';

const MINUTE_MS = 60_000;

/** The ends of a pause. Redis ends it by its own clock. */
const ENDS: readonly [Choice<number | undefined>, ...Choice<number | undefined>[]] = [
  { value: undefined, words: 'Until somebody resumes it', verb: 'Pause' },
  { value: 15 * MINUTE_MS, words: 'For 15 minutes', verb: 'Pause for 15 minutes' },
  { value: 60 * MINUTE_MS, words: 'For an hour', verb: 'Pause for an hour' },
  { value: 120 * MINUTE_MS, words: 'For 2 hours', verb: 'Pause for 2 hours' },
  { value: 720 * MINUTE_MS, words: 'For 12 hours', verb: 'Pause for 12 hours' },
];

/** Pauses or resumes the queue, with why and for how long. */
export function PauseButton({ queue: { name, pausedAt } }: { queue: QueueView }) {
  const action = pausedAt === null ? 'pause' : 'resume';
  if (!may(action)) {
    return null;
  }
  const act = async () => {
    try {
      if (action === 'resume') {
        await post('queue/act', { action, queue: name });
        say(`${name} hands out jobs again.`);
      } else if (await pause(name)) {
        say(`${name} is paused.`);
      }
    } catch (error) {
      say((error as Problem).message, true);
    }
  };
  return (
    <button type="button" class={action === 'resume' ? 'primary' : ''} onClick={() => void act()}>
      {action === 'pause' ? 'Pause the queue' : 'Resume the queue'}
    </button>
  );
}

/** Asks for the reason and the end, and pauses the queue. Returns false if the user decided against it. */
async function pause(name: string): Promise<boolean> {
  const chosen = await chooseWithNote(
    {
      title: `Pause the queue ${name}?`,
      body: 'It takes jobs in and hands none out, in the whole fleet. Running jobs continue.',
      noteLabel: 'Why? Other operators read it.',
      destroys: false,
    },
    ENDS,
  );
  if (chosen) {
    const { value: forMs, note: reason } = chosen;
    await post('queue/act', { action: 'pause', queue: name, ...(reason && { reason }), ...(forMs && { forMs }) });
  }
  return chosen !== null;
}
