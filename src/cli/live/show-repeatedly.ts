import { type Key, emitKeypressEvents } from 'node:readline';
import type { Context } from '../context.js';
import type { HostProcess } from '../host-process.js';
import { wholeNumber } from '../numbers.js';
import type { Part } from '../text.js';
import { Interruption } from './interruption.js';

const SHORTEST_MS = 100;

/** A result as JSON shows it, and as text. */
export type Shown = [value: unknown, words: () => Part];

/** A result that is shown repeatedly. */
export interface LiveView {
  read(): Promise<Shown>;
  /** Obeys a key; its text is then drawn again. Returns whether to read again now. */
  press?(key: string): boolean | Promise<boolean>;
}

/** Reads and shows the result repeatedly, until the end. The last result of a counted view stays on the screen. */
export async function showRepeatedly(
  { session, out, stdin }: Context,
  { every: asked = 1_000, count }: { every?: number; count?: unknown },
  view: LiveView,
): Promise<void> {
  const every = Math.max(SHORTEST_MS, asked);
  const most = wholeNumber('count', count as string | undefined) ?? Infinity;
  const interruption = new Interruption(session);
  let last: Shown | undefined;
  let drawing: NodeJS.Immediate | undefined;
  const draw = () => {
    drawing = undefined;
    if (last && !interruption.isOver) out.redraw(...last);
  };
  const obey = async (key: string) => {
    const readsAgain = await view.press?.(key);
    drawing ??= setImmediate(draw); // once for all keys that have arrived
    if (readsAgain) interruption.wake();
  };
  const release = out.holdScreen();
  const ignoreKeys = readKeys(stdin, (key) => {
    if (key === 'q' || key === 'ctrl+c') interruption.end();
    else void obey(key).catch(interruption.fail);
  });
  let isComplete = false;
  try {
    for (let i = 1; i <= most; i++) {
      const seen = await Promise.race([view.read(), interruption.over]);
      if (!seen) {
        return;
      }
      last = seen;
      out.redraw(...seen);
      await (i < most ? interruption.rest(every) : undefined);
    }
    isComplete = true;
  } finally {
    ignoreKeys();
    clearImmediate(drawing);
    interruption.close();
    release();
    if (isComplete && last) out.keep(...last);
  }
}

/**
 * Calls `onKey` with each key that a person presses, such as `q`, `up`, `return` or `ctrl+c`. Returns a function that
 * listens no more, and leaves the terminal as it was. On a pipe there are no keys.
 */
function readKeys(stdin: HostProcess['stdin'], onKey: (key: string) => void): () => void {
  if (!stdin.isTTY || !stdin.setRawMode) {
    return () => undefined;
  }
  const onKeypress = (typed: string | undefined, { name, ctrl }: Key) => {
    const key = name ?? typed ?? '';
    onKey(ctrl ? `ctrl+${key}` : key);
  };
  const wasRaw = stdin.isRaw === true;
  emitKeypressEvents(stdin);
  stdin.setRawMode(true); // else a key counts only after Enter
  stdin.on('keypress', onKeypress);
  stdin.resume();
  return () => {
    stdin.off('keypress', onKeypress);
    stdin.setRawMode?.(wasRaw);
    stdin.pause();
  };
}
