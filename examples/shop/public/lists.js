// The four lists, a page of each; the offsets are part of the stream's address.
import { age, byId, count, el, keyed, seconds, setText, shortId } from './dom.js';
import { keepingFocus, setOff } from './focus.js';
import { openJob } from './job-dialog.js';

const PAGE = 5;
const LISTS = {
  processing: { title: 'Running', empty: 'Nothing runs.' },
  pending: { title: 'Waiting', empty: 'Nothing waits.' },
  completed: { title: 'Completed', empty: 'Nothing is completed yet.' },
  failed: { title: 'Given up', empty: 'No dead letters.' },
};

/** The target of each button, from the first row of the last page and the first row now. */
const TURNS = {
  'first jobs': { sign: '«', to: () => 0 },
  'previous jobs': { sign: '‹', to: (_last, now) => Math.max(0, now - PAGE) },
  'next jobs': { sign: '›', to: (last, now) => Math.min(last, now + PAGE) },
  'last jobs': { sign: '»', to: (last) => last },
};

export const offsets = { pending: 0, processing: 0, completed: 0, failed: 0 };
let turned = () => {};
const panels = Object.fromEntries(Object.keys(LISTS).map((name) => [name, makePanel(name)]));
byId('lists').append(...Object.values(panels).map(({ section }) => section));

export function onPage(listener) {
  turned = listener;
}

export function showLists(lists, stats) {
  for (const [name, page] of Object.entries(lists)) {
    // The server decides the offset, because a list may have become shorter.
    offsets[name] = page.offset;
    keepingFocus(panels[name].section, () => showPage(panels[name], page, stats[`${name}_total`]));
  }
}

/** Shows a page of a list. `ever` counts its jobs since the last reset; the oldest are not kept. */
function showPage(panel, { offset, total, jobs }, ever = total) {
  const { rows, range, turns, empty } = panel;
  panel.last = Math.max(0, Math.ceil(total / PAGE) - 1) * PAGE;
  setText(
    range,
    total === 0
      ? '0'
      : `${count(offset + 1)} to ${count(Math.min(total, offset + PAGE))} of ${count(total)}${ever > total ? ' kept' : ''}`,
  );
  turns.hidden = panel.last === 0;
  for (const turn of turns.children) setOff(turn, turn.to(panel.last, offset) === offset);
  empty.hidden = jobs.length > 0;
  keyed(rows, jobs, (job) => job.id, makeRow, updateRow);
}

function makePanel(name) {
  const { title, empty: nothing } = LISTS[name];
  const rows = el('ul', { className: 'rows', 'aria-labelledby': `${name}-title` });
  const range = el('span', { className: 'range' }, '–');
  const buttons = Object.entries(TURNS).map(([label, { sign, to }]) => {
    const button = el('button', { type: 'button', className: 'turn', 'aria-label': `${title}: ${label}` }, sign);
    button.to = to;
    button.addEventListener('click', () => {
      offsets[name] = to(panels[name].last, offsets[name]);
      turned();
    });
    return button;
  });
  const turns = el('div', { className: 'turns' }, ...buttons);
  const empty = el('p', { className: 'hint' }, nothing);
  const section = el(
    'section',
    { className: `card list ${name}`, 'aria-labelledby': `${name}-title`, tabIndex: -1 },
    el('div', { className: 'list-head' }, el('h2', { id: `${name}-title` }, title), range, turns),
    rows,
    empty,
  );
  return { section, rows, range, turns, empty, last: 0 };
}

function makeRow(job) {
  const parts = {
    label: el('span', { className: 'label' }),
    attempts: el('span', { className: 'attempts' }),
    note: el('span', { className: 'note' }),
    outcome: el('span', { className: 'outcome' }),
  };
  const button = el('button', { type: 'button', className: 'open' }, parts.label);
  button.title = job.id;
  button.addEventListener('click', () => openJob(job.id));
  const id = el('span', { className: 'id' }, shortId(job.id));
  const row = el(
    'li',
    {},
    button,
    parts.note,
    el('span', { className: 'about' }, id, parts.attempts, parts.outcome),
  );
  row.dataset.job = job.id;
  row.parts = parts;
  return row;
}

function updateRow(row, job) {
  const { label, attempts, note, outcome } = row.parts;
  setText(label, job.label);
  setText(
    attempts,
    job.attempts === 0 ? '' : `attempt ${job.attempts}${job.crashes ? `, ${job.crashes} crashed` : ''}`,
  );
  setText(note, noteOf(job));
  row.classList.toggle('expired', job.claimEndsInMs <= 0);
  const said = job.status === 'completed' ? job.outcome : job.error;
  setText(outcome, said ?? '');
  outcome.classList.toggle('bad', job.status !== 'completed' && said !== undefined);
}

function noteOf({ status, claimEndsInMs, ageS }) {
  if (status === 'scheduled') return 'waits for its next attempt';
  if (claimEndsInMs === undefined) return status === 'pending' ? `for ${age(ageS)}` : `${age(ageS)} ago`;
  return claimEndsInMs > 0 ? `claim: ${seconds(claimEndsInMs)} left` : 'claim has expired';
}
