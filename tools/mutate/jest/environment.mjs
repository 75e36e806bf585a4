// The environment of a run that has its answer with the first test that fails. The tests after it are skipped.
import SharedEnvironment from '../../../test/support/shared-environment.mjs';

export default class FirstFailureEnvironment extends SharedEnvironment {
  handleTestEvent(event) {
    super.handleTestEvent(event);
    if (event.name === 'test_done' && event.test.errors.length > 0) this.hasFailed = true;
    if (event.name === 'test_start' && this.hasFailed) event.test.mode = 'skip';
  }
}
