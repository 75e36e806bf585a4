import { byId, el, keyed, timeOf } from './dom.js';
import { keepingFocus } from './focus.js';
import { openJob } from './job-dialog.js';

let last;

export function showStory(lines) {
  const story = byId('story');
  const newest = lines.length > 0 ? keyOf(lines.at(-1)) : undefined;
  if (newest === last) return;
  last = newest;
  byId('no-story').hidden = lines.length > 0;
  keepingFocus(story.parentElement, () => keyed(story, lines.toReversed(), keyOf, make, () => {}));
}

/** Returns the key of an entry: its number and time, because a restarted shop counts from one again. */
function keyOf({ n, at }) {
  return `${n}:${at}`;
}

function make({ at, tone, text, job }) {
  const line = el('li', { className: tone }, el('time', {}, timeOf(at)), el('span', {}, text));
  if (job !== undefined) {
    const button = el('button', { type: 'button', className: 'see', 'aria-label': `Open job ${job}` }, 'open');
    button.addEventListener('click', () => openJob(job));
    line.append(button);
  }
  return line;
}
