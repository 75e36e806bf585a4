import type { QueueVerdictView } from '../../views/verdict-views.js';
import { route, setParams } from '../state/route.js';
import { chipsOf, chipWords } from './queue-order.js';

/** The number of queues from which a field filters them. */
const MANY = 6;

/** Shows a chip for each state of trouble, and a field that filters many queues by name. */
export function QueueChips({ queues }: { queues: readonly QueueVerdictView[] }) {
  const { params } = route.value;
  const [only, text] = [params.get('only'), params.get('q') ?? ''];
  const chips = chipsOf(queues, only);
  if (chips.length === 0 && queues.length < MANY && text === '') {
    return null;
  }
  return (
    <div class="chips" role="group" aria-label="Filter the queues">
      {chips.map(([chip, count]) => (
        <button
          key={chip}
          type="button"
          class="chip"
          aria-pressed={chip === only}
          onClick={() => setParams({ only: chip === only ? null : chip })}
        >
          {chipWords(chip)} {count}
        </button>
      ))}
      {(queues.length >= MANY || text !== '') && (
        <input
          type="search"
          placeholder="Filter queues"
          aria-label="Filter the queues by name"
          value={text}
          onInput={(event) => setParams({ q: event.currentTarget.value || null })}
        />
      )}
    </div>
  );
}
