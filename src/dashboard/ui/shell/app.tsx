import { useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { OverviewPage } from '../overview/overview-page.js';
import { Confirm } from '../parts/confirm.js';
import { CountingDialog } from '../parts/counting.js';
import { lazy } from '../parts/lazy.js';
import { Clock, Notice } from '../parts/parts.js';
import { Toasts } from '../parts/toasts.js';
import { QueuePage } from '../queue/queue-page.js';
import { connection, overview, session, trouble } from '../state/live.js';
import { href, route } from '../state/route.js';
import { Header } from './header.js';
import { KeysHelp } from './keys-help.js';
import { useKeys } from './keys.js';
import { Palette } from './palette.js';
import { RunsPanel } from './runs-panel.js';

export function App() {
  useKeys();
  useTitle();
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <Header />
      <ConnectionBanner />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      <RunsPanel />
      <Toasts />
      <Confirm />
      <CountingDialog />
      <KeysHelp />
      <Palette />
    </>
  );
}

function focusMain(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

function Page(): ComponentChildren {
  const [page, first, second] = route.value.parts;
  if (!session.value && connection.value === 'refused') {
    return (
      <Notice title="You may not look at the queues." kind="problem">
        <p>{trouble.value?.message}</p>
      </Notice>
    );
  }
  switch (page) {
    case undefined:
      return <OverviewPage />;
    case 'queue':
      return first === undefined ? <OverviewPage /> : <QueuePage key={first} name={first} />;
    case 'job':
      return first && second ? <LazyJob key={`${first} ${second}`} queue={first} id={second} /> : <OverviewPage />;
    case 'batch':
      return first && second ? (
        <LazyBatch key={`${first} ${second}`} queue={first} id={second} />
      ) : (
        <OverviewPage />
      );
    case 'spread':
      return first === undefined ? <OverviewPage /> : <LazySpread key={first} name={first} />;
    case 'recurring':
      return <LazySchedules />;
    case 'outbox':
      return <LazyOutbox />;
    case 'limits':
      return <LazyLimits />;
    case 'topics':
      return <LazyTopics />;
    case 'workers':
      return <LazyWorkers />;
    case 'search':
      return <LazySearch />;
    case 'log':
      return <LazyLog />;
    default:
      return (
        <Notice title="There is no such page.">
          <p>
            <a href={href([])}>Go to the overview</a>
          </p>
        </Notice>
      );
  }
}

const TROUBLES = {
  slow: 'Reading the queues takes long',
  away: 'Redis is away',
  lost: 'The app does not answer',
};

/** Shows why the figures do not change, over any page. */
function ConnectionBanner() {
  const state = connection.value;
  if (state !== 'slow' && state !== 'away' && state !== 'lost') {
    return null;
  }
  const since = trouble.value?.since ?? null;
  return (
    <div class="banner" role="alert">
      <strong>{TROUBLES[state]}</strong>
      <span>
        {' '}
        since <Clock at={since} />. {overview.value ? 'What you see is from before.' : ''} This page tries again by
        itself.
      </span>
    </div>
  );
}

/** The pages that are loaded only when they are opened. */
const LazySchedules = lazy(
  'The recurring jobs',
  async () => (await import('../schedules/schedules-page.js')).SchedulesPage,
);

const LazySpread = lazy('The queue', async () => (await import('../spread/spread-page.js')).SpreadPage);
const LazyJob = lazy('The job', async () => (await import('../job/job-page.js')).JobPage);
const LazyBatch = lazy('The batch', async () => (await import('../batch/batch-page.js')).BatchPage);
const LazyLimits = lazy(
  'The limits',
  async () => (await import('../shared-limits/shared-limits-page.js')).SharedLimitsPage,
);
const LazyTopics = lazy('The topics', async () => (await import('../topics/topics-page.js')).TopicsPage);
const LazyWorkers = lazy('The workers', async () => (await import('../workers/workers-page.js')).WorkersPage);
const LazySearch = lazy('The search', async () => (await import('../search/search-page.js')).SearchPage);
const LazyLog = lazy('The action log', async () => (await import('../log/log-page.js')).LogPage);
const LazyOutbox = lazy('The outbox', async () => (await import('../outbox/outbox-page.js')).OutboxPage);

/** Names the page in the browser's tab, with how many queues need a look. */
function useTitle(): void {
  useSignalEffect(() => {
    const server = session.value?.servers.find(({ isHere }) => isHere);
    const title = `${server ? `${server.name} · ` : ''}${session.value?.title ?? 'Queues'}`;
    const [page, first, second] = route.value.parts;
    const named =
      page === 'job' || page === 'batch' ? second : page === 'queue' || page === 'spread' ? first : page;
    const critical = overview.value?.queues.filter(({ verdict }) => verdict.severity === 'critical').length ?? 0;
    document.title = `${critical > 0 ? `(${critical}) ` : ''}${named ? `${named} · ` : ''}${title}`;
  });
}
