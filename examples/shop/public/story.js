import { byId, el, keyed } from './dom.js';
import { openJob } from './job-dialog.js';

const time = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
let last = 0;

export function showStory(lines) {
  const story = byId('story');
  const newest = lines.at(-1)?.n ?? 0;
  if (newest === last) return;
  // A shop that was started anew counts from one again.
  if (newest < last) story.known?.clear();
  last = newest;
  keyed(
    story,
    lines.toReversed(),
    (line) => line.n,
    make,
    () => {},
  );
}

function make({ at, tone, text, job }) {
  const line = el('li', { className: tone }, el('time', {}, time.format(at)), el('span', {}, text));
  if (job !== undefined) {
    const button = el('button', { type: 'button', className: 'see', 'aria-label': `Open job ${job}` }, 'open');
    button.addEventListener('click', () => openJob(job));
    line.append(button);
  }
  return line;
}
