// Runs test files until the first fails. `bail` of jest would end the process, which serves the next mutant too.
import TestRunner from 'jest-runner';

export default class FirstFailureRunner extends TestRunner {
  runTests(tests, watcher, options) {
    const run = globalThis.mutateRun;
    const fail = (path, test) => {
      run.failed ??= { path, test };
      watcher.setState({ interrupted: true });
    };
    this.on('test-file-success', ([{ path }, { testResults, testExecError }]) => {
      run.onEnd();
      const failed = testResults.find(({ status }) => status === 'failed');
      if (failed || testExecError) fail(path, failed?.fullName);
    });
    this.on('test-file-failure', ([{ path }]) => fail(path));
    return super.runTests(tests, watcher, options);
  }
}
