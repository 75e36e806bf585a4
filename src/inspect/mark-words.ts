// What people said of a kind of error, and since when a known one comes again.
import type { ErrorKind, KindMark } from '../queue/dead-letters/error-kinds.js';
import type { JobQueue } from '../queue/job-queue.js';
import { deployBefore, sinceWords } from './shared-errors.js';
import { relative } from './words.js';

/** The part of the history that is searched for the deploy before an error, in ms. */
const DEPLOYS_MS = 86_400_000;

/** Adds the version that was deployed right before each known kind came again. Reads nothing if none comes again. */
export async function withVersions<Kind extends Pick<ErrorKind, 'mark' | 'firstAt'>>(
  { history }: Pick<JobQueue, 'history'>,
  kinds: readonly Kind[],
): Promise<(Kind & { version?: string })[]> {
  const { marks } = kinds.some(({ mark }) => mark?.comesAgain)
    ? await history.read({ lastMs: DEPLOYS_MS })
    : { marks: [] };
  return kinds.map((kind) => {
    const deploy = kind.mark?.comesAgain ? deployBefore(kind.firstAt, marks) : undefined;
    return { ...kind, ...(deploy && { version: deploy.version }) };
  });
}

/** Returns what people said of a kind of error in a few words, and since when it comes again. */
export function markWords(
  { known, comesAgain, quietUntil, note, by, at }: KindMark,
  nowMs: number,
  version?: string,
): string {
  const quiet =
    quietUntil && quietUntil.getTime() > nowMs ? `quiet, ends ${relative(quietUntil.getTime(), nowMs)}` : '';
  const again = `comes again${version === undefined ? '' : ` since version ${version}`}`;
  const life = comesAgain ? `${again}, known since ${sinceWords(at, nowMs)}` : known ? 'known' : '';
  const said = note === undefined ? '' : `“${note}”`;
  const words = [life, quiet, said].filter(Boolean).join(', ');
  return by === undefined || words === '' ? words : `${words} (${by})`;
}
