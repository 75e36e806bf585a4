import { run } from './actions.js';
import { byId, el, keyed, post, seconds, setText, shortId } from './dom.js';

const STATES = { starting: 'starts …', ready: 'idle', hanging: 'hangs', stopping: 'stops …' };

export function showWorkers(workers) {
  keyed(byId('workers'), workers, (worker) => worker.name, make, update);
}

function make({ name, pid }) {
  const state = el('span', { className: 'does' });
  const kill = el('button', { type: 'button', className: 'kill', 'aria-label': `Kill ${name}` }, 'Kill');
  kill.addEventListener('click', () =>
    run(kill, async () => {
      await post('/workers/kill', { worker: name });
      return `${name} is killed.`;
    }),
  );
  const row = el('li', {}, el('span', { className: 'who' }, name, el('small', {}, ` ${pid ?? ''}`)), state, kill);
  row.state = state;
  row.kill = kill;
  return row;
}

function update(row, { state, job }) {
  row.dataset.state = job && state === 'ready' ? 'busy' : state;
  const about = job && `${job.name} ${shortId(job.id)}, ${seconds(job.forMs)}`;
  setText(
    row.state,
    about && state !== 'starting' ? (state === 'ready' ? about : `${STATES[state]} ${about}`) : STATES[state],
  );
  row.kill.disabled = state === 'stopping';
}
