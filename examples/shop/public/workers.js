import { run } from './actions.js';
import { byId, count, el, keyed, post, seconds, setText, shortId } from './dom.js';
import { keepingFocus, setOff } from './focus.js';

const STATES = {
  starting: 'starts …',
  running: 'idle',
  disconnected: 'waits for Redis …',
  hanging: 'hangs',
  waiting: 'is replaced …',
  stopping: 'stops …',
};

export function showWorkers(workers) {
  const list = byId('workers');
  byId('no-workers').hidden = workers.length > 0;
  keepingFocus(list.closest('section'), () => keyed(list, workers, (worker) => worker.name, make, update));
}

function make({ name }) {
  const state = el('span', { className: 'does' });
  const kill = el('button', { type: 'button', className: 'kill', 'aria-label': `Kill ${name}` }, 'Kill');
  kill.addEventListener('click', () =>
    run(kill, async () => {
      await post('/workers/kill', { worker: name });
      return `${name} is killed.`;
    }),
  );
  const process = el('small', {});
  const row = el('li', {}, el('span', { className: 'who' }, name, process), state, kill);
  row.process = process;
  row.state = state;
  row.kill = kill;
  return row;
}

function update(row, { pid, state, job, processed }) {
  row.dataset.state = job && state === 'running' ? 'busy' : state;
  setText(row.process, pid === undefined ? '' : ` ${pid}`);
  const done = state === 'running' && processed > 0 ? `, ${count(processed)} done` : '';
  const about = job && `${job.name} ${shortId(job.id)}, ${seconds(job.forMs)}`;
  setText(
    row.state,
    about && state !== 'starting'
      ? state === 'running'
        ? about
        : `${STATES[state]} ${about}`
      : STATES[state] + done,
  );
  setOff(row.kill, state === 'stopping' || pid === undefined);
}
