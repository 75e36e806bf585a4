// One crash from beginning to end: a job, its worker killed in the middle, the claim running out, the job done after all.
import { run } from './actions.js';
import { byId, el, post, seconds, setText, shortId } from './dom.js';

const WORK_MS = 2_500;
let show;

byId('crash').addEventListener('click', (event) => void run(event.currentTarget, begin));

async function begin() {
  const sizes = await post('/workers/configure');
  const { work_latency_ms, fail_rate, hang_rate } = sizes;
  const before = { size: Math.max(1, sizes.workers_running), work_latency_ms, fail_rate, hang_rate };
  await post('/workers/start', { size: before.size, work_latency_ms: WORK_MS, fail_rate: 0, hang_rate: 0 });
  const { enqueued } = await post('/enqueue', { kind: 'email', recipient: 'ada@example.com', count: 1 });
  const [id] = enqueued;
  byId('crash-steps').replaceChildren();
  byId('crash-steps').hidden = false;
  show = { id, before, stage: 'waits', steps: new Map() };
  step('waits', `email ${shortId(id)} is enqueued.`);
  return '';
}

/** Called with every snapshot. */
export function watchCrash({ redis, lists, workers }) {
  if (!show || !redis) return;
  const { id } = show;
  const worker = workers.find((each) => each.job?.id === id && each.state === 'running');
  const running = lists.processing.jobs.find((job) => job.id === id);
  if (show.stage === 'waits' && worker && worker.job.forMs > 600) {
    show.stage = 'killing';
    show.victim = worker.pid;
    step('taken', `${nameOf(worker)} works on it.`);
    void run(undefined, () => kill(worker.name));
  } else if (show.stage === 'killed') {
    if (running?.claimEndsInMs > 0) step('claim', `Its claim runs out in ${seconds(running.claimEndsInMs)}.`);
    else if (running) step('claim', 'Its claim has run out; the next sweep takes it back.');
    if (lists.pending.jobs.some((job) => job.id === id) || (worker && worker.pid !== show.victim)) {
      show.stage = 'back';
      step('claim', 'Its claim ran out.');
      step('back', 'The job is back at the front of the queue.');
    }
  }
  if (show.stage === 'back' && worker) {
    show.again = true;
    step('again', `${nameOf(worker)} works on it: attempt ${worker.job.attempt}.`);
  } else if (show.stage === 'back' && (show.again || lists.completed.jobs.some((job) => job.id === id))) {
    void run(undefined, () => look(id));
  }
}

/** No worker has it any more: how did it end? */
async function look(id) {
  const { status } = await (await fetch(`/jobs/${id}`)).json();
  if (status === 'completed' && show?.id === id) {
    step('done', 'Completed. Nothing was lost.', 'good');
    show = undefined;
  }
  return '';
}

async function kill(victim) {
  const { before } = show;
  await post('/workers/kill', { worker: victim });
  show.stage = 'killed';
  step('killed', `${victim} is killed in the middle of it. Nobody tells Redis.`, 'bad');
  const { work_latency_ms, fail_rate, hang_rate } = before;
  await post('/workers/configure', { work_latency_ms, fail_rate, hang_rate });
  return `${victim} is killed.`;
}

/** A new process has the name of the one whose place it takes. */
function nameOf({ name, pid }) {
  return `${name} (process ${pid})`;
}

function step(name, text, tone = '') {
  let node = show.steps.get(name);
  if (!node) {
    node = el('li', { className: tone });
    show.steps.set(name, node);
    byId('crash-steps').append(node);
  }
  setText(node, text);
}
