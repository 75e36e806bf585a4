import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ServerView } from '../../views/overview-changes.js';
import type { VerdictView, SessionView } from '../../views/views.js';
import { VerdictMark } from '../parts/parts.js';
import { BASE, Problem, get } from '../state/api.js';
import { connection, overview, session } from '../state/live.js';
import { href, route } from '../state/route.js';
import { chooseTheme, dark } from '../state/theme.js';
import { linkedPages, partsOf } from './pages.js';
import { openPalette } from './palette.js';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Header() {
  const page = route.value.parts[0] ?? '';
  const current = ['queue', 'spread', 'job', 'batch'].includes(page) ? '' : page;
  return (
    <header class="top">
      <BackLink />
      <a class="title" href={href([])}>
        {session.value?.title ?? 'Queues'}
      </a>
      <Servers />
      <nav aria-label="Pages">
        {linkedPages().map((each) => (
          <a key={each.path} href={href(partsOf(each))} aria-current={each.path === current ? 'page' : undefined}>
            {each.text}
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

/** The time between two looks at the other servers, in ms. */
const LOOK_MS = 10_000;

type Server = SessionView['servers'][number];

/** What the other servers have said last: a verdict, or null without a reply. Undefined: you may not see it. */
const others = signal<ReadonlyMap<string, VerdictView | null | undefined>>(new Map());

/** Shows the servers with their verdicts. A link goes to the same page of another one. */
function Servers() {
  const servers = session.value?.servers ?? [];
  const key = servers.map((server) => server.href).join(' ');
  useEffect(() => {
    const look = () => document.hidden || servers.filter(({ isHere }) => !isHere).forEach((each) => void ask(each));
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [key]);
  return servers.length < 2 ? null : (
    <nav class="servers" aria-label="Servers">
      {servers.map((server) => (
        <a key={server.href} href={addressOf(server)} aria-current={server.isHere ? 'true' : undefined}>
          <Sign server={server} />
          <bdi>{server.name}</bdi>
        </a>
      ))}
    </nav>
  );
}

/** Returns the address of this page on another server. A job or a batch is of one server, so there it is its queue. */
function addressOf({ href: to }: Server): string {
  const { parts, params } = route.value;
  const isOfOne = parts[0] === 'job' || parts[0] === 'batch';
  const page = isOfOne ? href(['queue', parts[1]!]) : href(parts, Object.fromEntries(params));
  return new URL(to, BASE).href + page;
}

/** Shows the verdict on a server; a question mark where it does not answer. */
function Sign({ server }: { server: Server }) {
  const isAway = connection.value === 'away' || connection.value === 'lost';
  const own = isAway ? null : overview.value?.sentence;
  const verdict = server.isHere ? own : others.value.get(server.href);
  if (verdict === undefined) {
    return <VerdictMark severity="ok" isIdle />;
  }
  return verdict === null ? (
    <span class="server-away" role="img" aria-label="No answer" title="No answer">
      ?
    </span>
  ) : (
    <VerdictMark {...verdict} />
  );
}

async function ask({ href: to }: Server): Promise<void> {
  const answered = await get<ServerView>(
    'verdict',
    {},
    AbortSignal.timeout(LOOK_MS / 2),
    new URL(`${to}/`, BASE),
  ).catch((error: unknown) => ({ verdict: isRefusal(error) ? undefined : null }));
  others.value = new Map(others.value).set(to, answered.verdict);
}

function isRefusal(error: unknown): boolean {
  return error instanceof Problem && (error.status === 401 || error.status === 403);
}
