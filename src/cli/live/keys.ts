import { emitKeypressEvents, type Key } from 'node:readline';
import type { HostProcess } from '../host-process.js';

/**
 * Calls `onKey` with each key that a person presses, such as `q`, `up`, `return` or `ctrl+c`. Returns a function that
 * listens no more, and leaves the terminal as it was. On a pipe there are no keys.
 */
export function readKeys(stdin: HostProcess['stdin'], onKey: (key: string) => void): () => void {
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
