import type { BatchView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { StateMark } from '../parts/parts.js';

const PARTS = ['completed', 'failed', 'cancelled', 'removed', 'open'] as const;
const MARKS = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  removed: 'cancelled',
  open: 'pending',
} as const;

/** Shows the ends of a batch's jobs as one bar; the figures below it are the same. */
export function BatchBar({ batch }: { batch: BatchView }) {
  const { total } = batch;
  let x = 0;
  return (
    <div class="batch-progress">
      <svg class="batch-bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        {PARTS.map((part) => {
          const width = total === 0 ? 0 : (batch[part] / total) * 1_000;
          const from = x;
          x += width;
          return width > 0 && <rect key={part} x={from} width={width} y="0" height="8" class={`bar-${part}`} />;
        })}
      </svg>
      <ul class="batch-counts">
        {PARTS.filter((part) => batch[part] > 0).map((part) => (
          <li key={part}>
            <StateMark state={MARKS[part]} /> {count(batch[part])} {part}
          </li>
        ))}
      </ul>
    </div>
  );
}
