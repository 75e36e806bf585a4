import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { PAGES } from './pages.js';

const helpOpen = signal(false);
const KEYS: readonly [keys: string, does: string][] = [
  ['/', 'Find a queue, a job, a page or an action; also ⌘K or Ctrl+K'],
  ['s', 'Search in the open queue'],
  ['[ ]', 'Previous and next queue'],
  ...PAGES.map(({ key, text, long = text }): [string, string] => [`g ${key}`, long]),
  ['j k', 'Next and previous job of a list'],
  ['x', 'Select the job'],
  ['Enter', 'Open the job'],
  ['?', 'These keys'],
];

export function showKeys(): void {
  helpOpen.value = true;
}

export function KeysHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="keys-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="dialog-buttons">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
