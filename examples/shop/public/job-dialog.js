// Shows one job with all its details and its output. They are loaded when its row is opened, and again when it changes.
import { byId, el, getJson, shortId, timeOf } from './dom.js';

const dialog = byId('job');
const ENDED = new Set(['completed', 'failed', 'cancelled']);
/** Changes of a job outside the shown rows are invisible, so it is read again this long after a snapshot. */
const UNSEEN_MS = 1_000;
let open;
/** The part of the page with the opened row, which may be gone when the dialog closes. */
let openedFrom;

byId('job-close').addEventListener('click', () => dialog.close());
dialog.addEventListener('close', () => {
  open = undefined;
  // If the row still exists, the browser has moved the focus back to it by now.
  const { activeElement } = document;
  if (activeElement === document.body || dialog.contains(activeElement)) openedFrom?.focus();
});
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close();
});

export function openJob(id) {
  open = { id };
  byId('job-title').textContent = `Job ${shortId(id)}`;
  byId('job-body').replaceChildren(el('p', { className: 'hint' }, 'Looking …'));
  openedFrom = document.activeElement.closest('[tabindex]');
  dialog.showModal();
  void load(id);
}

/** Reads the open job again when the stream shows a change, until the job has ended. */
export function watchJob({ redis, lists }) {
  if (!open?.job || !redis || open.gone || ENDED.has(open.job.status)) return;
  const row = Object.values(lists)
    .flatMap(({ jobs }) => jobs)
    .find((job) => job.id === open.id);
  if (!row) return lookLater(open);
  if (row.status !== open.job.status || row.attempts !== open.job.attempts) void load(open.id);
}

function lookLater(job) {
  job.timer ??= setTimeout(() => {
    job.timer = undefined;
    if (open === job) void load(job.id);
  }, UNSEEN_MS);
}

async function load(id) {
  const body = byId('job-body');
  try {
    const job = await getJson(`/jobs/${encodeURIComponent(id)}`);
    const made = job.status === 'completed' ? await madeBy(job) : undefined;
    if (open?.id !== id) return;
    open.job = job;
    byId('job-title').textContent = job.label;
    body.replaceChildren(...factsOf(job), ...(made ? [el('h3', {}, 'What it made'), made] : []));
  } catch (error) {
    if (open?.id !== id) return;
    open.gone = error.status === 404;
    body.replaceChildren(el('p', { className: 'bad' }, error.message));
  }
}

function factsOf(job) {
  const facts = {
    Status: job.status,
    Attempts: job.maxAttempts ? `${job.attempts} of ${job.maxAttempts}` : String(job.attempts),
    Enqueued: when(job.enqueuedAt),
    Completed: when(job.completedAt),
    'Given up': when(job.failedAt),
    Id: job.id,
  };
  const parts = [
    definitions(facts),
    inDashboard(job),
    el('h3', {}, 'Payload'),
    code(job.brokenPayload ?? job.payload),
  ];
  if (job.result !== undefined) parts.push(el('h3', {}, 'Result'), code(job.result));
  if (job.errors.length > 0) {
    const lines = job.errors.map((each) =>
      el(
        'li',
        {},
        el('strong', {}, `${each.attempt}: ${each.outcome}`),
        ` ${each.message ?? ''}`,
        el('small', {}, each.worker ? ` (${each.worker})` : ''),
      ),
    );
    parts.push(el('h3', {}, 'Attempts that did not complete'), el('ul', { className: 'attempt-log' }, ...lines));
  }
  return parts;
}

/** Returns a link to the job in the dashboard, which shows its attempts, log and actions. */
function inDashboard({ queue, id }) {
  return el(
    'p',
    {},
    link(`/queues#/job/${encodeURIComponent(queue)}/${encodeURIComponent(id)}`, 'In the dashboard'),
  );
}

/** Shows the job's product. A job that another client completed may have none. */
async function madeBy(job) {
  try {
    return await whatItMade(job);
  } catch (error) {
    return el('p', { className: 'hint' }, error.message);
  }
}

async function whatItMade({ id, name, payload }) {
  switch (name) {
    case 'email':
      return mail(await getJson(`/mails/${id}`));
    case 'webhook':
      return delivery(await getJson(`/webhooks/${id}`));
    case 'thumbnail':
      return el(
        'div',
        { className: 'pictures' },
        picture(`/thumbnails/original/${encodeURIComponent(payload.product)}`, 'The original, 1600 × 1200'),
        picture(`/thumbnails/${id}`, `The thumbnail, ${payload.width} wide`),
      );
    case 'invoice':
      return el(
        'div',
        {},
        el('p', {}, link(`/invoices/${id}`, 'Open the PDF')),
        // A single page needs no list of pages beside it.
        el('iframe', { className: 'pdf', src: `/invoices/${id}#navpanes=0`, title: 'The invoice' }),
      );
    case 'report':
      return el('p', {}, link(`/reports/${id}`, 'The report as CSV'));
    default:
      return undefined;
  }
}

function mail({ from, to, subject, text, receivedAt }) {
  return el(
    'article',
    { className: 'made mail' },
    definitions({ From: from, To: to, Subject: subject, Arrived: when(receivedAt) }),
    el('p', { className: 'letter' }, text),
  );
}

function delivery({ body, signature, receivedAt, attempt }) {
  return el(
    'article',
    { className: 'made' },
    // A request whose signature is not the shop's is refused, and not kept.
    el('p', { className: 'good' }, '✓ The receiver checked the signature: it is the shop’s.'),
    definitions({
      Request: 'POST /webhooks/receiver',
      Signature: signature,
      Attempt: attempt,
      Arrived: when(receivedAt),
    }),
    code(body),
  );
}

function picture(src, caption) {
  return el('figure', {}, el('img', { src, alt: caption }), el('figcaption', {}, caption));
}

function link(href, text) {
  return el('a', { href, target: '_blank', rel: 'noopener' }, text);
}

function definitions(facts) {
  const pairs = Object.entries(facts).filter(([, value]) => value !== undefined && value !== '');
  return el(
    'dl',
    { className: 'facts' },
    ...pairs.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, String(value))]),
  );
}

function code(value) {
  return el('pre', { tabIndex: 0 }, typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

function when(date) {
  return date ? timeOf(date) : undefined;
}
