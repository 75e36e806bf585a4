// The show of a crash is the server's, and goes on without this page; here it begins, and is seen.
import { run } from './actions.js';
import { byId, post, setText } from './dom.js';
import { setOff } from './focus.js';

const button = byId('crash');
const lines = [...byId('crash-steps').children];
/** What will happen, while it has not. */
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
  // Until it has ended: what is set now comes from the show itself.
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

/** Each step once, without what is left of its claim: that would be read out for seconds. */
function announce(step) {
  if (step?.name === announced) return;
  announced = step?.name;
  setText(byId('crash-said'), step?.text.replace(/ in \d+\.\d s\.$/, '.') ?? '');
}
