// The totals, which add up: each enqueued job waits, runs, or has one end.
import { byId, count, el, keyed, setText } from './dom.js';

const PARTS = {
  pending_depth: 'pending',
  processing_depth: 'processing',
  completed_total: 'completed',
  failed_total: 'failed',
  removed_total: 'removed',
};

export function showNumbers(stats) {
  const numbers = withRemoved(stats);
  for (const node of document.querySelectorAll('[data-stat]')) setText(node, count(numbers[node.dataset.stat]));
  for (const node of document.querySelectorAll('[data-visibility]')) {
    setText(node, `${stats.visibility_ms / 1_000} s`);
  }
  const done = stats.completed_total + stats.failed_total;
  setText(byId('done-count'), count(done));
  byId('removed').hidden = numbers.removed_total === 0;
  showShares(numbers);
}

/** Adds the number of cancelled or deleted jobs. Nothing counts a job of a foreign producer when it arrives. */
function withRemoved(stats) {
  const { enqueued_total, pending_depth, processing_depth, completed_total, failed_total } = stats;
  const rest = enqueued_total - pending_depth - processing_depth - completed_total - failed_total;
  return {
    ...stats,
    removed_total: Math.max(0, rest),
    enqueued_total: Math.max(enqueued_total, enqueued_total - rest),
  };
}

function showShares(numbers) {
  const shares = Object.keys(PARTS).filter((name) => numbers[name] > 0);
  keyed(
    byId('shares'),
    shares,
    (name) => name,
    (name) => el('span', { className: PARTS[name] }),
    (node, name) => (node.style.flexGrow = String(numbers[name])),
  );
}
