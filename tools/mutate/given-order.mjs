// Runs test files in the order of the arguments, so that the nearest notices a mutant first.
import Sequencer from '@jest/test-sequencer';

const order = JSON.parse(process.env.MUTATE_ORDER ?? '[]');

function placeOf({ path }) {
  return order.findIndex((file) => path.endsWith(`/${file}`));
}

export default class extends Sequencer {
  sort(tests) {
    return tests.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
