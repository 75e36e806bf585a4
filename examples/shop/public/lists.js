// The four lists, a page of each; the offsets are part of the stream's address.
import { byId, count, el, keyed, seconds, setText, shortId } from './dom.js';
import { openJob } from './job-dialog.js';

const PAGE = 5;
const LISTS = {
  processing: { title: 'Running', empty: 'Nothing runs.' },
  pending: { title: 'Waiting', empty: 'Nothing waits.' },
  completed: { title: 'Completed', empty: 'Nothing is completed yet.' },
  failed: { title: 'Given up', empty: 'No dead letters.' },
};

export const offsets = { pending: 0, processing: 0, completed: 0, failed: 0 };
let turned = () => {};
const panels = Object.fromEntries(Object.keys(LISTS).map((name) => [name, makePanel(name)]));
byId('lists').append(...Object.values(panels).map(({ section }) => section));

export function onPage(listener) {
  turned = listener;
}

export function showLists(lists) {
  for (const [name, page] of Object.entries(lists)) {
    const { rows, range, back, on, empty } = panels[name];
    const { offset, total, jobs } = page;
    // Only what the server shows is where we are: a list may have become shorter.
    offsets[name] = offset;
    setText(
      range,
      total === 0 ? '0' : `${count(offset + 1)} to ${count(Math.min(total, offset + PAGE))} of ${count(total)}`,
    );
    back.disabled = offset === 0;
    on.disabled = offset + PAGE >= total;
    empty.hidden = jobs.length > 0;
    keyed(rows, jobs, (job) => job.id, makeRow, updateRow);
  }
}

function makePanel(name) {
  const { title, empty: nothing } = LISTS[name];
  const rows = el('ul', { className: 'rows', 'aria-labelledby': `${name}-title` });
  const range = el('span', { className: 'range' }, '–');
  const turn = (by, label, sign) => {
    const button = el('button', { type: 'button', className: 'turn', 'aria-label': `${title}: ${label}` }, sign);
    button.addEventListener('click', () => {
      offsets[name] = Math.max(0, offsets[name] + by * PAGE);
      turned();
    });
    return button;
  };
  const back = turn(-1, 'previous jobs', '‹');
  const on = turn(1, 'next jobs', '›');
  const empty = el('p', { className: 'hint' }, nothing);
  const section = el(
    'section',
    { className: `card list ${name}`, 'aria-labelledby': `${name}-title` },
    el('div', { className: 'list-head' }, el('h2', { id: `${name}-title` }, title), range, back, on),
    rows,
    empty,
  );
  return { section, rows, range, back, on, empty };
}

function makeRow(job) {
  const parts = {
    kind: el('span', { className: 'kind' }),
    attempts: el('span', { className: 'attempts' }),
    note: el('span', { className: 'note' }),
    payload: el('span', { className: 'payload' }),
    outcome: el('span', { className: 'outcome' }),
  };
  const button = el('button', { type: 'button', className: 'open' }, parts.kind, ' ', shortId(job.id));
  button.title = job.id;
  button.addEventListener('click', () => openJob(job.id));
  const row = el('li', {}, button, parts.attempts, parts.note, parts.payload, parts.outcome);
  row.dataset.job = job.id;
  row.parts = parts;
  return row;
}

function updateRow(row, job) {
  const { kind, attempts, note, payload, outcome } = row.parts;
  setText(kind, job.name);
  setText(
    attempts,
    job.attempts === 0 ? '' : `attempt ${job.attempts}${job.crashes ? `, ${job.crashes} crashed` : ''}`,
  );
  setText(note, noteOf(job));
  row.classList.toggle('expiring', job.claimEndsInMs !== undefined && job.claimEndsInMs < 1_500);
  setText(payload, job.payload);
  const said = job.status === 'completed' ? job.result : job.error;
  setText(outcome, said ?? '');
  outcome.classList.toggle('bad', job.status !== 'completed' && said !== undefined);
}

function noteOf({ status, claimEndsInMs }) {
  if (status === 'scheduled') return 'waits for its next attempt';
  if (claimEndsInMs === undefined) return '';
  return claimEndsInMs > 0 ? `claim: ${seconds(claimEndsInMs)} left` : 'claim has run out';
}
