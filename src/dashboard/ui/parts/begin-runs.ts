// Asks how many jobs an action takes, and how fast, and begins a run in each queue.
import { ACTIONS, type JobAction } from '../../../queue/model/actions.js';
import type { JobMatch, State } from '../../views/views.js';
import { post } from '../state/api.js';
import { may } from '../state/live.js';
import { restsOfRuns } from './actions.js';
import { type ask, type Choice, choose } from './confirm.js';
import { count } from './format.js';
import { say, tried } from './toasts.js';

/** The number of jobs that go first, to see whether their cause is mended. */
export const FIRST_FEW = 10;
/** What a question says of jobs that killed their workers. */
export const DEADLY =
  'A job that killed its workers runs alone in its worker. It has one chance: a further death ends it.';
/** The jobs of each second, of a slow redrive. */
const PACE = 10;

/** How many jobs a run takes, and how fast. */
export interface Pace {
  most?: number;
  perSecond?: number;
}

/** The jobs of a run. */
interface Meant {
  action: JobAction;
  queue: string;
  state: State;
  match: JobMatch;
  /** Null if the number is unknown. */
  total: number | null;
}

/** Asks how many dead letters go back first. Null where the user does not agree. */
export function choosePace(question: Parameters<typeof ask>[0], each = ''): Promise<Pace | null> {
  const choices: [Choice<Pace>, ...Choice<Pace>[]] = [
    {
      value: { most: FIRST_FEW },
      words: `${FIRST_FEW} first${each}, to see whether they complete now`,
      verb: `Redrive the first ${FIRST_FEW}${each}`,
    },
    { value: { perSecond: PACE }, words: `All, ${PACE} a second${each}`, verb: `${question.verb} slowly` },
    { value: {}, words: 'All at once', verb: question.verb },
  ];
  return choose(question, choices);
}

/** Begins a run. After the first few it offers the others. */
export async function beginRun({ total, ...meant }: Meant, pace: Pace): Promise<void> {
  const { id } = await post<{ id: string }>('runs', { ...meant, ...pace });
  if (pace.most !== undefined) {
    const others = total === null ? 'the others' : `the other ${count(total - pace.most)}`;
    restsOfRuns.set(id, {
      words: `${ACTIONS[meant.action].button} ${others}, ${PACE} a second`,
      redrive: () => void tried(() => post('runs', { ...meant, perSecond: PACE })),
    });
  }
}

/** Asks before dead letters of several queues are redriven, and begins a run in each queue where the user may. */
export async function redriveInAll(
  parts: readonly Omit<Meant, 'action' | 'state'>[],
  words: string,
  word: 'queue' | 'shard' = 'queue',
): Promise<void> {
  const open = parts.filter(({ queue }) => may('redrive', queue));
  const known = open.every(({ total }) => total !== null);
  const many = howMany(known ? open.reduce((sum, { total }) => sum + (total ?? 0), 0) : null, 'failed');
  const pace = await choosePace(
    {
      title: `Redrive ${known ? '' : 'all '}${many} ${words}?`,
      body: `${ACTIONS.redrive.many.does} Each ${word} has a run of its own, which can be stopped.`,
      lines: open.map(({ queue, total }) => `${queue}: ${howMany(total, 'failed')}`),
      destroys: false,
      verb: `Redrive ${many}`,
    },
    ` of each ${word}`,
  );
  if (pace === null) {
    return;
  }
  await beginRuns('redrive', open, pace, { all: parts.length, word });
}

/** Begins a run on the dead letters of each queue. Says in how many of all it began. */
export async function beginRuns(
  action: 'redrive' | 'discard',
  parts: readonly Omit<Meant, 'action' | 'state'>[],
  pace: Pace,
  { all, word }: { all: number; word: 'queue' | 'shard' },
): Promise<void> {
  const refusals = await Promise.all(
    parts.map(async (part) => {
      const few = pace.most !== undefined && part.total !== null && part.total <= pace.most;
      try {
        await beginRun({ ...part, action, state: 'failed' }, few ? {} : pace);
        return [];
      } catch (error) {
        return [`${part.queue}: ${(error as Error).message}`];
      }
    }),
  );
  const refused = refusals.flat();
  refused.forEach((refusal) => say(refusal, true));
  if (refused.length < parts.length) {
    say(`${ACTIONS[action].button} began in ${count(parts.length - refused.length)} of ${count(all)} ${word}s.`);
  }
}

/** Counts jobs in the words of their state: 1 dead letter, 14 pending jobs. */
export function howMany(total: number | null, state: State): string {
  const word = state === 'failed' ? 'dead letter' : `${state} job`;
  return total === null ? `${word}s` : `${count(total)} ${word}${total === 1 ? '' : 's'}`;
}
