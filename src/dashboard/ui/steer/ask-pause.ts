import { chooseWithNote, type Choice } from '../parts/confirm.js';

export const MINUTE_MS = 60_000;

/** The ends of a pause. Redis ends it by its own clock. */
const ENDS: readonly [Choice<number | undefined>, ...Choice<number | undefined>[]] = [
  { value: undefined, words: 'Until somebody resumes it', verb: 'Pause' },
  { value: 15 * MINUTE_MS, words: 'For 15 minutes', verb: 'Pause for 15 minutes' },
  { value: 60 * MINUTE_MS, words: 'For an hour', verb: 'Pause for an hour' },
  { value: 120 * MINUTE_MS, words: 'For 2 hours', verb: 'Pause for 2 hours' },
  { value: 720 * MINUTE_MS, words: 'For 12 hours', verb: 'Pause for 12 hours' },
];

/** Asks for the reason and the end of a pause. Returns null if the user decided against it. */
export async function askPause(what: string, effect: string): Promise<{ reason?: string; forMs?: number } | null> {
  const chosen = await chooseWithNote(
    {
      title: `Pause ${what}?`,
      body: `${effect} Running jobs continue.`,
      noteLabel: 'Why? Other operators read it.',
      destroys: false,
    },
    ENDS,
  );
  if (!chosen) {
    return null;
  }
  const { value: forMs, note: reason } = chosen;
  return { ...(reason && { reason }), ...(forMs && { forMs }) };
}
