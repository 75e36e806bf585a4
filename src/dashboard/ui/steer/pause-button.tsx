import type { QueueView } from '../../views/views.js';
import { ask, choose, type Choice } from '../parts/confirm.js';
import { askPause, MINUTE_MS } from './ask-pause.js';
import { plural, relative } from '../parts/format.js';
import { say, tried } from '../parts/toasts.js';
import { type Problem, post } from '../state/api.js';
import { may, overview, unreachable } from '../state/live.js';

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

/** The number of jobs that start first, or in a second. The user looks at them before the rest starts. */
const FEW = 10;

interface Resume {
  first?: number;
  perSecond?: number;
}

/** Asks before a resume that starts jobs, or ends a pause with a reason. Returns null if the user decided against it. */
async function askResume(queue: QueueView): Promise<Resume | null> {
  const { name, pausedAt, pausedBy, pauseReason, depths } = queue;
  if (pauseReason === undefined && depths.pending === 0) {
    return {};
  }
  const by = pausedBy === undefined ? '' : ` by ${pausedBy}`;
  const why = pauseReason === undefined ? '' : `: “${pauseReason}”`;
  const waiting = plural(depths.pending, 'job');
  const starts = depths.pending === 0 ? 'No job waits.' : `${waiting} will start.`;
  const asked = {
    title: `Resume ${name}?`,
    body: `Paused${by} ${relative(pausedAt!, overview.value?.at ?? Date.now())}${why}. ${starts}`,
    destroys: false,
  };
  if (depths.pending <= FEW) {
    return (await ask({ ...asked, verb: 'Resume' })) ? {} : null;
  }
  return choose(asked, [
    { value: {}, words: `Start all ${waiting}`, verb: 'Resume' },
    {
      value: { first: FEW },
      words: `Start only ${FEW} jobs. The rest starts when you clear the limits`,
      verb: `Start ${FEW} jobs`,
    },
    {
      value: { perSecond: FEW },
      words: `Start ${FEW} jobs a second, until you clear the limits`,
      verb: 'Resume slowly',
    },
  ]);
}

function startedInWords(name: string, { first, perSecond }: Resume): string {
  if (first !== undefined) {
    return `${name} starts ${first} jobs. Clear its limits for the rest.`;
  }
  return `${name} hands out ${perSecond === undefined ? 'jobs again' : `${perSecond} jobs a second`}.`;
}

/** Resumes a paused queue, or pauses another one, if the user agrees. */
export async function pauseOrResume(queue: QueueView): Promise<void> {
  const { name, pausedAt } = queue;
  try {
    if (pausedAt !== null) {
      const how = await askResume(queue);
      if (how) {
        const { done } = await post<{ done: number }>('queue/act', { action: 'resume', queue: name, ...how });
        say(done > 0 ? startedInWords(name, how) : `${name} was not paused any more. Its limits stay.`);
      }
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
