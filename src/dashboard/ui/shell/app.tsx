import type { ComponentChildren } from 'preact';
import { BatchPage } from '../batch/batch-page.js';
import { JobPage } from '../job/job-page.js';
import { LogPage } from '../log/log-page.js';
import { OverviewPage } from '../overview/overview-page.js';
import { QueuePage } from '../queue/queue-page.js';
import { SearchPage } from '../search/search-page.js';
import { LazySchedules } from '../schedules/lazy-schedules.js';
import { connection, overview, session, trouble } from '../state/live.js';
import { href, route } from '../state/route.js';
import { WorkersPage } from '../workers/workers-page.js';
import { Clock, Notice } from '../parts/parts.js';
import { Confirm } from '../parts/confirm.js';
import { CountingDialog } from '../parts/counting.js';
import { Header } from './header.js';
import { useKeys } from './keys.js';
import { KeysHelp } from './keys-help.js';
import { Palette } from './palette.js';
import { RunsPanel } from './runs-panel.js';
import { Toasts } from '../parts/toasts.js';
import { useTitle } from './use-title.js';

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
      return first && second ? <JobPage key={`${first} ${second}`} queue={first} id={second} /> : <OverviewPage />;
    case 'batch':
      return first && second ? (
        <BatchPage key={`${first} ${second}`} queue={first} id={second} />
      ) : (
        <OverviewPage />
      );
    case 'recurring':
      return <LazySchedules />;
    case 'workers':
      return <WorkersPage />;
    case 'search':
      return <SearchPage />;
    case 'log':
      return <LogPage />;
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
