import { connection, session } from '../state/live.js';
import { href, route } from '../state/route.js';
import { chooseTheme, dark } from '../state/theme.js';
import { openPalette } from './palette.js';
import { PAGES } from './palette-entries.js';
import { Servers } from './servers.js';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Header() {
  const page = route.value.parts[0] ?? '';
  const current = page === 'queue' || page === 'job' || page === 'batch' ? '' : page;
  return (
    <header class="top">
      <BackLink />
      <a class="title" href={href([])}>
        {session.value?.title ?? 'Queues'}
      </a>
      <Servers />
      <nav aria-label="Pages">
        {PAGES.map(([path, text]) => (
          <a key={path} href={href(path === '' ? [] : [path])} aria-current={path === current ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <div class="top-right">
        <LiveSign />
        <FindButton />
        <ThemeButton />
      </div>
    </header>
  );
}

/** Shows the app's own link, where it set one. */
function BackLink() {
  const back = session.value?.back;
  return back ? (
    <a class="back" href={back.href}>
      ← {back.text}
    </a>
  ) : null;
}

function LiveSign() {
  const words = {
    connecting: 'connecting',
    live: 'live',
    slow: 'slow',
    away: 'Redis is away',
    lost: 'not connected',
    refused: 'refused',
    resting: 'resting',
  }[connection.value];
  return (
    <span class={`live live-${connection.value}`} id="connection" role="status">
      {words}
    </span>
  );
}

/** Opens the palette. */
function FindButton() {
  return (
    <button
      type="button"
      id="find"
      class="find"
      aria-haspopup="dialog"
      aria-keyshortcuts="Meta+K Control+K /"
      onClick={openPalette}
    >
      <span>Find anything</span> <kbd aria-hidden="true">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  );
}

function toggle(): void {
  chooseTheme(dark.value ? 'light' : 'dark');
}

function ThemeButton() {
  const label = dark.value ? 'Use the light palette' : 'Use the dark palette';
  return (
    <button type="button" class="plain theme" onClick={toggle} aria-label={label} title={label}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />
      </svg>
    </button>
  );
}
