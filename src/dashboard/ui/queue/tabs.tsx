import { useEffect, useRef } from 'preact/hooks';
import type { QueueView, State } from '../../views/views.js';
import { count } from '../parts/format.js';
import { StateMark } from '../parts/parts.js';
import { href } from '../state/route.js';
import { useBatches } from './batches.js';
import { useGroups } from './groups.js';

export const STATES: readonly [state: State, title: string][] = [
  ['pending', 'Pending'],
  ['processing', 'Processing'],
  ['scheduled', 'Scheduled'],
  ['failed', 'Dead letters'],
  ['completed', 'Completed'],
  ['cancelled', 'Cancelled'],
];

/** Shows the tabs of a queue: jobs by state, charts, and groups and batches of a queue that has them. */
export function Tabs({ queue: { name, depths }, current }: { queue: QueueView; current: string }) {
  const tabs = useRef<HTMLElement>(null);
  const groups = useGroups(name).data?.groups.length ?? 0;
  const found = useBatches(name).data;
  const batches = found ? found.batches.length + found.ended.length : 0;
  useEffect(() => {
    const show = () => tabs.current && showCurrent(tabs.current);
    show();
    addEventListener('resize', show);
    return () => removeEventListener('resize', show);
  }, [current, groups > 0, batches > 0]);
  const views: [view: string, title: string, isThere: boolean][] = [
    ['groups', 'Groups', groups > 0],
    ['batches', 'Batches', batches > 0],
    ['charts', 'Charts', true],
  ];
  return (
    <nav class="tabs" aria-label="States" ref={tabs}>
      {STATES.map(([state, title]) => (
        <a
          key={state}
          href={href(['queue', name], { state })}
          aria-current={state === current ? 'true' : undefined}
          data-state={state}
        >
          <StateMark state={state} />
          {title} <span class="tab-count">{count(depths[state])}</span>
        </a>
      ))}
      {views.map(
        ([view, title, isThere]) =>
          (isThere || view === current) && (
            <a
              key={view}
              href={href(['queue', name], { view })}
              aria-current={view === current ? 'true' : undefined}
            >
              {title}
            </a>
          ),
      )}
    </nav>
  );
}

/** Scrolls to the current tab, because on a phone not all tabs have room. */
function showCurrent(bar: HTMLElement): void {
  const tab = bar.querySelector<HTMLElement>('[aria-current]');
  if (tab) {
    bar.scrollLeft = tab.offsetLeft - bar.clientWidth / 2 + tab.clientWidth / 2;
  }
}
