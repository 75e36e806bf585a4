import { computed, signal } from '@preact/signals';

type Theme = 'light' | 'dark' | null;

/** The palette that the user chose; null for the system's. */
const theme = signal<Theme>(readTheme());
applyTheme(theme.value);

const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);
system.addEventListener('change', () => (systemDark.value = system.matches));

/** True if the dark palette is shown. */
export const dark = computed(() => (theme.value === null ? systemDark.value : theme.value === 'dark'));

/** Chooses a palette, and remembers it in this browser. */
export function chooseTheme(next: Exclude<Theme, null>): void {
  applyTheme(next);
  theme.value = next;
  try {
    localStorage.setItem('job-queue-theme', next);
  } catch {
    // Storage is off: it holds until the page is closed.
  }
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem('job-queue-theme');
    return stored === 'light' || stored === 'dark' ? stored : null;
  } catch {
    return null; // storage is off
  }
}

function applyTheme(next: Theme): void {
  if (next) {
    document.documentElement.dataset.theme = next;
  } else {
    delete document.documentElement.dataset.theme;
  }
}
