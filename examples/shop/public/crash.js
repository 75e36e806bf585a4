// Starts and shows the crash, which the server runs, also without this page.
import { run } from './actions.js';
import { byId, post, setText } from './dom.js';
import { setOff } from './focus.js';

const button = byId('crash');
const lines = [...byId('crash-steps').children];
/** The plan of each step, shown until it happens. */
const plans = new Map(lines.map((line) => [line, line.querySelector('p').textContent]));

button.addEventListener(
  'click',
  () =>
    void run(button, async () => {
      await post('/workers/crash');
      return '';
    }),
);

export function showCrash({ running, steps }) {
  // Off until it has ended. Later changes come from the show itself.
  setOff(button, running);
  const told = new Map(steps.map((step) => [step.name, step]));
  const last = steps.at(-1);
  for (const line of lines) {
    const step = told.get(line.dataset.step);
    setText(line.querySelector('p'), step?.text ?? plans.get(line));
    line.className = step ? `told ${step.tone}` : '';
    if (step === last && step) line.setAttribute('aria-current', 'step');
    else line.removeAttribute('aria-current');
  }
  announce(last);
}

let announced;

/** Announces each step once, without the remaining time of its claim, which would be read out for seconds. */
function announce(step) {
  if (step?.name === announced) return;
  announced = step?.name;
  setText(byId('crash-said'), step?.text.replace(/ in \d+\.\d s\.$/, '.') ?? '');
}
