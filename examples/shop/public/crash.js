// Starts and shows the stories, which the server tells, also without this page.
import { run } from './actions.js';
import { byId, post, setText } from './dom.js';
import { setOff } from './focus.js';

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const buttons = [...document.querySelectorAll('.stories button')];
/** The words of each story beside its button. */
const pitches = [...document.querySelectorAll('.pitch > [data-story]')];
const lists = [...document.querySelectorAll('.steps')];
const lines = lists.flatMap((list) => [...list.children]);
/** The plan of each step, shown until it happens. */
const plans = new Map(lines.map((line) => [line, line.querySelector('p').textContent]));
const names = new Map(buttons.map((button) => [button, button.textContent]));

for (const button of buttons) button.addEventListener('click', () => void run(button, () => begin(button)));

byId('copy-install').addEventListener(
  'click',
  ({ currentTarget }) =>
    void run(currentTarget, async () => {
      await copy(byId('install'));
      return 'Copied.';
    }),
);

async function begin(button) {
  await post(`/workers/${button.dataset.story}`);
}

export function showCrash({ show, size, picture }) {
  const { running, name = 'crash', steps } = show;
  const last = steps.at(-1);
  const isOver = !running && last?.name === 'end';
  for (const button of buttons) {
    // Off until the story has ended. Later changes come from the server itself.
    setOff(button, running);
    const isAgain = isOver && button.dataset.story === name;
    setText(button, isAgain ? `Again: ${lowerFirst(names.get(button))}` : names.get(button));
  }
  for (const pitch of pitches) pitch.hidden = pitch.dataset.story !== name;
  for (const list of lists) {
    list.hidden = list.dataset.story !== name;
    showSteps([...list.children], list.hidden ? [] : steps);
  }
  byId('behind').hidden = !isOver || last.tone !== 'good';
  announce(name, last);
  if (show.offered) beginOnce(size, picture);
}

function showSteps(children, steps) {
  const told = new Map(steps.map((step) => [step.name, step]));
  for (const line of children) {
    const step = told.get(line.dataset.step);
    setText(line.querySelector('p'), step?.text ?? plans.get(line));
    line.className = step ? `told ${step.tone}` : '';
    if (step && step === steps.at(-1)) line.setAttribute('aria-current', 'step');
    else line.removeAttribute('aria-current');
  }
}

let announced;

/** Announces each step once, without the remaining time of its claim, which would be read out for seconds. */
function announce(name, step) {
  const key = step && `${name} ${step.name}`;
  if (key === announced) return;
  announced = key;
  setText(byId('crash-said'), step?.text.replace(/ in \d+\.\d s\.$/, '.') ?? '');
}

let hasBegun = false;

/** Begins the first story by itself once all workers are there. Not where the user prefers less motion. */
function beginOnce(size, { lanes }) {
  const ready = lanes.filter(({ state }) => state === 'running');
  if (hasBegun || calm.matches || document.hidden || size < 2 || ready.length < size) return;
  hasBegun = true;
  // Another page may have begun it meanwhile.
  begin(byId('crash')).catch(() => undefined);
}

function lowerFirst(text) {
  return text[0].toLowerCase() + text.slice(1);
}

/** Copies by the clipboard, or by a selection where the browser has none for this address. */
async function copy(node) {
  if (navigator.clipboard) return navigator.clipboard.writeText(node.textContent);
  getSelection().selectAllChildren(node);
  document.execCommand('copy');
  getSelection().removeAllRanges();
}
