// The actions of buttons and sliders.
import { confirmed } from './confirm.js';
import { byId, count, el, post, setText } from './dom.js';

const KINDS = ['email', 'webhook', 'thumbnail', 'invoice'];
const CONDITIONS = ['work_latency_ms', 'fail_rate', 'hang_rate'];

const written = {
  size: (value) => value,
  work_latency_ms: (value) => `${(value / 1_000).toFixed(1)} s`,
  fail_rate: (value) => `${Math.round(value * 100)} %`,
  hang_rate: (value) => `${Math.round(value * 100)} %`,
};

/** Sliders in use, or used a moment ago, which ignore updates of the server. */
const held = new Map();
/** The last conditions that the server sent for the sliders. */
let lastConditions;

export function connectActions() {
  byId('enqueue').addEventListener('submit', (event) => {
    event.preventDefault();
    void run(event.submitter, enqueue);
  });
  byId('pool').addEventListener('submit', (event) => event.preventDefault());
  byId('pool').addEventListener('input', (event) => onSlider(event.target));
  on('start', async () => {
    await post('/workers/start', fields('size', ...CONDITIONS));
    return 'Started.';
  });
  on('stop', async () => {
    await post('/workers/stop');
    return 'The workers finish what they have, and stop.';
  });
  on('reclaim', async () => {
    const { reclaimed } = await post('/reclaim');
    return reclaimed.length === 0 ? 'No claim had expired.' : `${count(reclaimed.length)} reclaimed.`;
  });
  on('reset', async () => {
    if (!(await confirmed())) return undefined;
    await post('/reset');
    return 'All jobs are deleted, the workers are stopped.';
  });
}

function on(id, action) {
  byId(id).addEventListener('click', (event) => void run(event.currentTarget, action));
}

/** Runs one action at a time for each button. Shows the outcome, if there is one, at the foot of the screen. */
export async function run(button, action) {
  if (button?.ariaBusy === 'true') return;
  if (button) button.ariaBusy = 'true';
  try {
    const said = await action();
    if (said !== undefined) say(said, false);
  } catch (error) {
    say(error.message, true);
  } finally {
    if (button) button.ariaBusy = 'false';
  }
}

function say(text, bad) {
  const answer = byId('answer');
  answer.classList.toggle('bad', bad);
  // A new element each time, so that a screen reader reads repeated words again.
  answer.replaceChildren(...(text === '' ? [] : [el('span', {}, text)]));
}

async function enqueue() {
  const { kind, recipient, count: wanted } = Object.fromEntries(new FormData(byId('enqueue')));
  const kinds = kind === 'all' ? KINDS : [kind];
  let sum = 0;
  for (const each of kinds) {
    sum += (await post('/enqueue', { kind: each, recipient, count: wanted })).enqueued.length;
  }
  return `${count(sum)} ${sum === 1 ? 'job' : 'jobs'} enqueued.`;
}

function onSlider(slider) {
  write(slider);
  clearTimeout(held.get(slider.id));
  const apply = async () => {
    try {
      if (slider.id === 'size') await post('/workers/start', fields('size', ...CONDITIONS));
      else await post('/workers/configure', fields(slider.id));
    } catch (error) {
      say(error.message, true);
    }
    // A snapshot from before the change may still be on its way.
    held.set(
      slider.id,
      setTimeout(() => followServer(slider.id), 1_000),
    );
  };
  held.set(
    slider.id,
    setTimeout(() => void apply(), 200),
  );
}

/** Lets the slider follow the server again at once, because the server's next message may be far away. */
function followServer(id) {
  held.delete(id);
  if (lastConditions) showConditions(...lastConditions);
}

function fields(...names) {
  return Object.fromEntries(names.map((name) => [name, byId(name).value]));
}

function write(slider) {
  const text = String(written[slider.id](Number(slider.value)));
  setText(slider.nextElementSibling, text);
  slider.setAttribute('aria-valuetext', text);
}

/**
 * Sets the sliders to the server's values, which others may have changed. Stopped workers leave the number for the
 * next start.
 */
export function showConditions(stats, size) {
  lastConditions = [stats, size];
  const values = { size: size === 0 ? byId('size').value : size };
  for (const name of CONDITIONS) values[name] = stats[name];
  for (const [name, value] of Object.entries(values)) {
    const slider = byId(name);
    if (held.has(name)) continue;
    if (slider.value !== String(value)) slider.value = String(value);
    write(slider);
  }
}
