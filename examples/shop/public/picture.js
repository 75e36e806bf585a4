// Jobs as cards that move: waiting, in the lane of a worker process, done.
import { run } from './actions.js';
import { claimLasts, setClaim } from './claims.js';
import { byId, count, el, keyed, post, setText } from './dom.js';
import { keepingFocus, setOff } from './focus.js';
import { openJob } from './job-dialog.js';
import { sliding } from './moves.js';
import { claimRing, crack, shapeOf } from './shapes.js';

const STATES = {
  starting: 'starts …',
  running: 'idle',
  disconnected: 'waits for Redis …',
  hanging: 'hangs',
  waiting: 'is replaced …',
  stopping: 'stops …',
  dead: 'killed',
};

const places = { waiting: byId('waiting'), workers: byId('workers'), done: byId('done') };
const allCards = () => [...document.querySelectorAll('.picture .job:not(.flying)')];
/** The cards by job: a card that moves keeps its node. */
const cards = new Map();

export function showPicture({ redis, inMemory, picture, stats, show }) {
  if (stats) claimLasts(stats.visibility_ms);
  sliding(
    allCards,
    () => {
      if (redis) showEnds(picture, stats);
      keepingFocus(zoneOf('workers'), () => keyed(places.workers, picture.lanes, keyOf, makeLane, updateLane));
      forget();
    },
    frontOfQueue,
  );
  for (const card of allCards()) card.classList.toggle('shown', show.jobs.includes(card.dataset.job));
  byId('no-workers').hidden = inMemory || picture.lanes.length > 0;
  byId('one-process').hidden = !inMemory;
  tell('elsewhere', picture.elsewhere, (n) => `${count(n)} more ${n === 1 ? 'runs' : 'run'} in other processes.`);
}

function showEnds({ waiting, done }, stats) {
  showCards('waiting', waiting);
  showCards('done', done);
  byId('no-waiting').hidden = waiting.length > 0;
  byId('no-done').hidden = done.length > 0;
  tell('more-waiting', stats.pending_depth - waiting.length, (n) => `and ${count(n)} more`);
  tell('more-done', stats.completed_total + stats.failed_total - done.length, (n) => `and ${count(n)} before`);
}

function tell(id, number, words) {
  const node = byId(id);
  node.hidden = number <= 0;
  if (number > 0) setText(node, words(number));
}

const zoneOf = (place) => places[place].closest('.zone');

function showCards(place, jobs) {
  keepingFocus(zoneOf(place), () => fill(places[place], jobs));
}

/** Makes the children of a list the cards of these jobs. */
function fill(list, jobs) {
  const nodes = jobs.map(cardOf);
  for (const node of Array.from(list.children)) if (!nodes.includes(node)) node.remove();
  nodes.forEach((node, i) => {
    if (list.children[i] !== node) list.insertBefore(node, list.children[i] ?? null);
  });
}

function cardOf(job) {
  const card = cards.get(job.id) ?? makeCard(job.id);
  cards.set(job.id, card);
  const { sign, label, attempt, ring } = card.parts;
  if (card.dataset.status !== job.status) {
    card.dataset.status = job.status;
    sign.replaceChildren(job.status === 'running' ? ring : shapeOf(job.status));
  }
  setText(label, job.label);
  setText(attempt, job.attempt > 1 ? `attempt ${job.attempt}` : '');
  setClaim(ring, job.status === 'running' ? job.claimEndsInMs : undefined);
  return card;
}

function makeCard(id) {
  const parts = {
    sign: el('span', { className: 'sign' }),
    label: el('span', { className: 'label' }),
    attempt: el('span', { className: 'attempt' }),
    ring: claimRing(),
  };
  const button = el('button', { type: 'button', title: id }, parts.sign, parts.label, parts.attempt);
  button.addEventListener('click', () => openJob(id));
  const card = el('li', { className: 'job' }, button);
  card.dataset.job = id;
  card.parts = parts;
  return card;
}

/** Returns the key of a process: its name and pid, because a replacement process has the same name. */
function keyOf({ name, pid }) {
  return `${name} ${pid ?? ''}`;
}

function makeLane({ name }) {
  const parts = {
    pid: el('span', { className: 'pid' }),
    state: el('span', {}),
    slot: el('ol', { className: 'slot' }),
    kill: el('button', { type: 'button', className: 'kill' }, 'Kill'),
  };
  parts.kill.addEventListener('click', () =>
    run(parts.kill, async () => {
      await post('/workers/kill', { worker: name });
      return `${name} is killed.`;
    }),
  );
  const does = el('span', { className: 'does' }, parts.pid, ' ', parts.state);
  const lane = el('li', {}, el('span', { className: 'who' }, name), does, parts.slot, parts.kill);
  lane.parts = parts;
  return lane;
}

function updateLane(lane, { name, pid, state, job }) {
  const { pid: process, state: does, slot, kill } = lane.parts;
  lane.dataset.state = job && state === 'running' ? 'busy' : state;
  setText(process, pid === undefined ? '' : `pid ${pid}`);
  setText(does, job && state === 'running' ? 'works' : STATES[state]);
  fill(slot, job ? [job] : []);
  kill.hidden = state === 'dead';
  kill.setAttribute('aria-label', `Kill ${name}`);
  setOff(kill, state === 'stopping' || pid === undefined);
  if (state === 'dead' && !lane.querySelector('.crack')) lane.append(crack());
}

/** Returns the front of the queue for a job that moved between processes: it was there between two snapshots. */
function frontOfQueue(from, to) {
  const isTaken = from.matches('.slot') && to.matches('.slot');
  return isTaken ? places.waiting.getBoundingClientRect() : undefined;
}

function forget() {
  for (const [id, card] of cards) if (!card.isConnected) cards.delete(id);
}
