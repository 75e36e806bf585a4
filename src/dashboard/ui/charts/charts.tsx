import { useMemo } from 'preact/hooks';
import type { QueueView, HistoryView } from '../../views/views.js';
import { duration, exact } from '../parts/format.js';
import { Notice, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href, route } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { Plot } from './plot.js';
import { chartsOf, type ChartData } from './series.js';

const RANGES = ['1', '24', '72'] as const;
const REFRESH_MS = 15_000;

/** Shows the history of a queue over the last 1, 24 or 72 hours. */
export function Charts({ queue: { name } }: { queue: QueueView }) {
  const asked = route.value.params.get('hours');
  const hours = RANGES.find((each) => each === asked) ?? '1';
  const turn = Math.floor(now.value / REFRESH_MS);
  const { data, problem } = useLoaded<HistoryView>('history', { queue: name, hours }, turn);
  return (
    <section class="charts" aria-label="Charts">
      <nav class="ranges" aria-label="Time">
        {RANGES.map((each) => (
          <a
            key={each}
            href={href(['queue', name], { view: 'charts', hours: each })}
            aria-current={each === hours ? 'true' : undefined}
          >
            {each} h
          </a>
        ))}
      </nav>
      {problem && <Notice title={problem.message} kind="problem" />}
      {!data && !problem && <Notice title="Loading the history…" kind="loading" />}
      {data && data.at.length === 0 && (
        <Notice title="Nothing is recorded yet.">
          <p>
            The first figures come when a minute is over. Where the queue has <code>history: false</code>, none are
            recorded.
          </p>
        </Notice>
      )}
      {data && data.at.length > 0 && <ChartGrid history={data} />}
    </section>
  );
}

function ChartGrid({ history }: { history: HistoryView }) {
  const charts = useMemo(() => chartsOf(history), [history]);
  return (
    <>
      <div class="chart-grid">
        {charts.map((chart) => (
          <figure key={chart.title} class="chart part">
            <figcaption>{chart.title}</figcaption>
            <Plot chart={chart} at={history.at} marks={history.marks} />
            <ChartTable chart={chart} history={history} />
          </figure>
        ))}
      </div>
      <Marks marks={history.marks} />
    </>
  );
}

function ChartTable({ chart: { title, lines, say }, history }: { chart: ChartData; history: HistoryView }) {
  return (
    <details class="chart-table">
      <summary>Table</summary>
      <div class="scroller" tabIndex={0} role="region" aria-label={`Table of ${title}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">From</th>
              {lines.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {history.at
              .map((at, i) => (
                <tr key={at}>
                  <th scope="row">{exact(at)}</th>
                  {lines.map(({ label, values }) => (
                    <td key={label} class="number" data-label={label}>
                      {values[i] === null || values[i] === undefined ? '–' : say(values[i])}
                    </td>
                  ))}
                </tr>
              ))
              .toReversed()}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Marks({ marks }: { marks: HistoryView['marks'] }) {
  if (marks.length === 0) {
    return null;
  }
  return (
    <ul class="marks" aria-label="Deploys and outages">
      {marks.toReversed().map(({ at, endAt, kind, text }) => (
        <li key={`${at} ${text}`} class={`mark-${kind}`}>
          <span class="tag">{kind}</span> <bdi>{text}</bdi>
          {endAt !== null && ` for ${duration(endAt - at)}`}, <Time at={at} />
        </li>
      ))}
    </ul>
  );
}
