import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../state/route.js';

const helpOpen = signal(false);
const PAGES: Record<string, string> = { o: '#/', r: '#/recurring', w: '#/workers', l: '#/log' };
const KEYS: readonly [keys: string, does: string][] = [
  ['/', 'Find a job by its id'],
  ['s', 'Search in the open queue'],
  ['g o', 'Overview'],
  ['g r', 'Recurring jobs'],
  ['g w', 'Workers'],
  ['g l', 'Action log'],
  ['j k', 'Next and previous job of a list'],
  ['x', 'Select the job'],
  ['Enter', 'Open the job'],
  ['?', 'These keys'],
];

/** Listens for the keys that work on every page. */
export function useKeys(): void {
  useEffect(() => {
    let before = '';
    const press = (event: KeyboardEvent) => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isTyping(event.target) ||
        document.querySelector('dialog[open]')
      ) {
        return;
      }
      const after = before;
      before = event.key;
      if (after === 'g' && PAGES[event.key]) {
        go(PAGES[event.key]!);
      } else if (event.key === '/') {
        focus(event, '#find');
      } else if (event.key === 's') {
        focus(event, '#queue-search');
      } else if (event.key === '?') {
        helpOpen.value = true;
      } else if (event.key === 'j' || event.key === 'k') {
        moveRow(event.key === 'j' ? 1 : -1);
      } else if (event.key === 'x') {
        document.activeElement
          ?.closest('[data-row]')
          ?.querySelector<HTMLInputElement>('input[type=checkbox]')
          ?.click();
      }
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select');
}

function focus(event: KeyboardEvent, selector: string): void {
  const field = document.querySelector<HTMLInputElement>(selector);
  if (field) {
    event.preventDefault();
    field.focus();
    field.select();
  }
}

function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row] a.row-link')];
  const at = rows.findIndex((row) => row.closest('[data-row]')?.contains(document.activeElement));
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
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
