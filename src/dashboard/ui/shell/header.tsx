import { useRef, useState } from 'preact/hooks';
import type { JobRow } from '../../views/views.js';
import { get, Problem } from '../state/api.js';
import { connection, session } from '../state/live.js';
import { go, href, route } from '../state/route.js';
import { chooseTheme, dark } from '../state/theme.js';
import { say } from '../parts/toasts.js';

const LINKS: readonly [path: string, text: string][] = [
  ['', 'Overview'],
  ['recurring', 'Recurring'],
  ['workers', 'Workers'],
  ['log', 'Log'],
];

export function Header() {
  const page = route.value.parts[0] ?? '';
  const current = page === 'queue' || page === 'job' || page === 'batch' ? '' : page;
  return (
    <header class="top">
      <BackLink />
      <a class="title" href="#/">
        {session.value?.title ?? 'Queues'}
      </a>
      <nav aria-label="Pages">
        {LINKS.map(([path, text]) => (
          <a key={path} href={`#/${path}`} aria-current={path === current ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <div class="top-right">
        <LiveSign />
        <FindJob />
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

function FindJob() {
  const [text, setText] = useState('');
  const busy = useRef(false);
  const find = async (event: Event) => {
    event.preventDefault();
    const id = text.trim();
    if (!id || busy.current) {
      return;
    }
    busy.current = true;
    try {
      const { jobs } = await get<{ jobs: JobRow[] }>('find', { id });
      const [job] = jobs;
      if (job) {
        setText('');
        go(href(['job', job.queue, job.id]));
      } else {
        say(`No queue has a job with the id ${id}.`, true);
      }
    } catch (error) {
      say((error as Problem).message, true);
    } finally {
      busy.current = false;
    }
  };
  return (
    <form class="find" role="search" aria-label="Find a job" onSubmit={(event) => void find(event)}>
      <input
        id="find"
        type="search"
        placeholder="Find by id  /"
        aria-label="Find a job by its id"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
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
