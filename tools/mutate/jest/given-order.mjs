// Runs test files in the order of the run, so that the nearest notices a mutant first.
import Sequencer from '@jest/test-sequencer';

export default class extends Sequencer {
  sort(tests) {
    const { files } = globalThis.mutateRun;
    const placeOf = ({ path }) => files.findIndex((file) => path.endsWith(`/${file}`));
    return tests.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
