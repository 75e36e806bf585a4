// The show of a crash is the server's, and goes on without this page; here it begins, and is seen.
import { run } from './actions.js';
import { byId, el, keyed, post, setText } from './dom.js';
import { setOff } from './focus.js';

const button = byId('crash');

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
  const list = byId('crash-steps');
  list.hidden = steps.length === 0;
  keyed(
    list,
    steps,
    ({ name }) => name,
    () => el('li'),
    update,
  );
}

function update(line, { text, tone }) {
  line.className = tone;
  setText(line, text);
}
