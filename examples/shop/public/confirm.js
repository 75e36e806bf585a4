// Asks before an action that cannot be undone, and shows how much it affects.
import { byId, count, setText } from './dom.js';

const dialog = byId('confirm');
let stats;

byId('confirm-yes').addEventListener('click', () => dialog.close('yes'));
byId('confirm-no').addEventListener('click', () => dialog.close('no'));
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close('no');
});

/** Keeps the latest figures for the question. */
export function keepForConfirm(latest) {
  stats = latest;
}

/** Resolves to whether everything is to be deleted. */
export function confirmed() {
  setText(byId('confirm-text'), question());
  // Escape leaves the previous value.
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

function question() {
  const { pending_depth, processing_depth, completed_depth, failed_depth, workers_running } = stats ?? {};
  const jobs = pending_depth + processing_depth + completed_depth + failed_depth;
  const stop = workers_running > 0 ? `, stops ${numbered(workers_running, 'worker')}` : '';
  const what = stats
    ? `This deletes ${numbered(jobs, 'job')} with what they made${stop}`
    : 'This deletes all jobs with what they made, stops all workers';
  return `${what}, and counts from zero. It cannot be undone.`;
}

function numbered(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
