import { onClock } from '../../../inspect/schedules/clock.js';
import { runInWords } from '../../../inspect/schedules/runs-in-words.js';
import type { ScheduleRunView, ScheduleView } from '../../views/schedules-view.js';
import { count, plural } from '../parts/format.js';
import { RunMark, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';

const OPEN = { pending: 'waits', scheduled: 'waits for its next attempt', processing: 'runs' } as const;

/** Shows the last runs as marks, the oldest first. Each leads to its job. */
export function Runs({ schedule: { queue, runs, timeZone, ticks, skipped } }: { schedule: ScheduleView }) {
  const [last] = runs;
  if (!last) {
    return <span class="quiet">{ticks > 0 ? `${count(ticks)} before` : 'none yet'}</span>;
  }
  return (
    <>
      <ul class="runs-strip" aria-label="Last runs, the oldest first">
        {runs.toReversed().map((run) => (
          <li key={run.jobId ?? run.at}>
            <Run run={run} queue={queue} timeZone={timeZone} />
          </li>
        ))}
      </ul>
      <LastRun run={last} queue={queue} />
      <span class="hidden">
        {plural(ticks, 'run')} in all, {count(skipped)} skipped
      </span>
    </>
  );
}

interface RunProps {
  run: ScheduleRunView;
  queue: string;
}

function Run({ run, queue, timeZone }: RunProps & { timeZone: string }) {
  const words = `${onClock(run.at, timeZone, now.value)}: ${runInWords(run)}`;
  return run.jobId === null ? (
    <span role="img" aria-label={words} title={words}>
      <RunMark status={run.status} />
    </span>
  ) : (
    <a href={href(['job', queue, run.jobId])} aria-label={words} title={words}>
      <RunMark status={run.status} />
    </a>
  );
}

/** Says how the last run ended, or that its job waits or runs. */
function LastRun({ run: { jobId, at, status, isByHand }, queue }: RunProps) {
  const isOpen = status in OPEN;
  const words = isOpen ? `Its job ${OPEN[status as keyof typeof OPEN]}` : runInWords({ status, isByHand: false });
  return (
    <span class={`last-run run-${status}`}>
      {jobId === null ? words : <a href={href(['job', queue, jobId])}>{words}</a>}{' '}
      <span class="quiet">
        {isByHand ? 'by hand ' : ''}
        <Time at={at} />
      </span>
    </span>
  );
}
