import { useEffect } from 'preact/hooks';
import { go, href } from '../state/route.js';
import { showKeys } from './keys-help.js';
import { PAGES, partsOf } from './pages.js';
import { openPalette } from './palette.js';

/** The links that a key opens, where the page has them. */
const LINKS: Record<string, string> = { '[': 'a[rel=prev]', ']': 'a[rel=next]' };
/** Listens for the keys that work on every page. */
export function useKeys(): void {
  useEffect(() => {
    let before = '';
    const press = (event: KeyboardEvent) => {
      if (opensPalette(event)) {
        event.preventDefault();
        openPalette();
        return;
      }
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
      const page = after === 'g' && PAGES.find(({ key }) => key === event.key);
      if (page) {
        go(href(partsOf(page)));
      } else if (event.key === '/') {
        event.preventDefault();
        openPalette();
      } else if (event.key === 's') {
        focus(event, '#queue-search');
      } else if (event.key === '?') {
        showKeys();
      } else if (LINKS[event.key]) {
        document.querySelector<HTMLElement>(LINKS[event.key]!)?.click();
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

/** Returns whether ⌘K or Ctrl+K was pressed, also in a field. */
function opensPalette(event: KeyboardEvent): boolean {
  const isKey = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === 'k';
  return isKey && !document.querySelector('dialog[open]');
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
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row] .row-link')];
  const at = rows.findIndex((row) => row.closest('[data-row]')?.contains(document.activeElement));
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
}
