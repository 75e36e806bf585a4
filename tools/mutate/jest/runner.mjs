// Runs test files until the first fails, or the time of the run is over. `bail` of jest would end the process, which serves the next mutant too.
import TestRunner from 'jest-runner';

export default class FirstFailureRunner extends TestRunner {
  runTests(tests, watcher, options) {
    const run = globalThis.mutateRun;
    const fail = (path, test) => {
      run.failed ??= { path, test };
      watcher.setState({ interrupted: true });
    };
    this.on('test-file-success', ([{ path }, { testResults, testExecError, perfStats }]) => {
      const failed = testResults.find(({ status }) => status === 'failed');
      run.onEnd(path, perfStats.runtime / 1_000, !failed && !testExecError);
      if (failed || testExecError) fail(path, failed?.fullName);
      else if (performance.now() > run.until) watcher.setState({ interrupted: true });
    });
    this.on('test-file-failure', ([{ path }]) => fail(path));
    return super.runTests(tests, watcher, options);
  }
}
