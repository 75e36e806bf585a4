// One crash from beginning to end: a job, its worker killed in the middle, the claim running out, the job done after all.
import { run } from './actions.js';
import { byId, el, getJson, post, seconds, setText, shortId } from './dom.js';

const WORK_MS = 2_500;
/** How often a job that no list shows is asked for. */
const LOOK_MS = 1_000;
const ENDS = {
  completed: ['Completed. Nothing was lost.', 'good'],
  failed: ['Given up: it is a dead letter now.', 'bad'],
  cancelled: ['It was cancelled.', 'bad'],
};
const button = byId('crash');
let show;

button.addEventListener('click', () => void run(button, begin));

async function begin() {
  const steps = byId('crash-steps');
  steps.replaceChildren();
  steps.hidden = false;
  // Until the show has ended: what is set now comes from the show itself.
  button.disabled = true;
  const current = { steps: new Map(), lookedAt: 0 };
  try {
    const { workers_running, ...now } = await post('/workers/configure');
    const { work_latency_ms, fail_rate, hang_rate } = now;
    current.before = { work_latency_ms, fail_rate, hang_rate };
    const size = Math.max(1, workers_running);
    await post('/workers/start', { size, work_latency_ms: WORK_MS, fail_rate: 0, hang_rate: 0 });
    const { enqueued } = await post('/enqueue', { kind: 'email', recipient: 'ada@example.com', count: 1 });
    show = Object.assign(current, { id: enqueued[0], stage: 'waits' });
    step(current, 'waits', `email ${shortId(current.id)} is enqueued.`);
    return '';
  } catch (error) {
    await end(current, error.message, 'bad');
    throw error;
  }
}

/** Called with every snapshot. */
export function watchCrash({ redis, lists, workers }) {
  const current = show;
  if (!current || !redis) return;
  const has = (list) => list.jobs.find((job) => job.id === current.id);
  const worker = workers.find((each) => each.job?.id === current.id && each.state === 'running');
  const running = has(lists.processing);
  const waiting = has(lists.pending);
  if (current.stage === 'waits' && worker && worker.job.forMs > 600) {
    current.stage = 'killing';
    current.victim = worker.pid;
    step(current, 'taken', `${nameOf(worker)} works on it.`);
    void run(undefined, () => kill(current, worker.name));
  } else if (current.stage === 'killed') {
    if (running?.claimEndsInMs > 0)
      step(current, 'claim', `Its claim runs out in ${seconds(running.claimEndsInMs)}.`);
    else if (running)
      step(current, 'claim', 'Its claim has run out; the next sweep takes it back, or “Take back expired claims”.');
    if (waiting || (worker && worker.pid !== current.victim)) comesBack(current);
  }
  if (current.stage === 'back' && worker) {
    step(current, 'again', `${nameOf(worker)} works on it: attempt ${worker.job.attempt}.`);
  }
  if (!worker && !running && !waiting) void look(current);
}

function comesBack(current) {
  current.stage = 'back';
  step(current, 'claim', 'Its claim ran out.');
  step(current, 'back', 'The job is back at the front of the queue.');
}

/** No worker has it, and no list shows it: it may have ended, or been deleted, or be in a part that is not shown. */
async function look(current) {
  if (current.stage === 'killing' || Date.now() - current.lookedAt < LOOK_MS) return;
  current.lookedAt = Date.now();
  try {
    const { status } = await getJson(`/jobs/${current.id}`);
    if (ENDS[status]) await end(current, ...ENDS[status]);
    else if (status === 'pending' && current.stage === 'killed') comesBack(current);
  } catch (error) {
    // Without an answer the page says that the shop or Redis is away; the show goes on with them.
    if (error.status === 404) await end(current, 'The job was deleted.', 'bad');
    else if (error.status !== undefined && error.status !== 503) await end(current, error.message, 'bad');
  }
}

async function kill(current, victim) {
  try {
    await post('/workers/kill', { worker: victim });
    current.stage = 'killed';
    step(current, 'killed', `${victim} is killed in the middle of it. Nobody tells Redis.`, 'bad');
  } catch (error) {
    await end(current, error.message, 'bad');
    throw error;
  } finally {
    await restore(current);
  }
  return `${victim} is killed.`;
}

async function end(current, text, tone) {
  if (current.ended) return;
  current.ended = true;
  show = undefined;
  step(current, 'end', text, tone);
  try {
    await restore(current);
  } finally {
    button.disabled = false;
  }
}

/** Makes the work what it was before the show. */
async function restore(current) {
  const { before } = current;
  current.before = undefined;
  if (before) await post('/workers/configure', before);
}

/** A new process has the name of the one whose place it takes. */
function nameOf({ name, pid }) {
  return `${name} (process ${pid})`;
}

function step({ steps }, name, text, tone = '') {
  let node = steps.get(name);
  if (!node) {
    node = el('li', { className: tone });
    steps.set(name, node);
    byId('crash-steps').append(node);
  }
  setText(node, text);
}
