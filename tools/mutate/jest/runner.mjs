// Runs test files until the first fails. `bail` of jest would end the process, which serves the next mutant too.
import TestRunner from 'jest-runner';

export default class FirstFailureRunner extends TestRunner {
  runTests(tests, watcher, options) {
    const run = globalThis.mutateRun;
    const end = (file, hasFailed) => {
      run.onEnd(file);
      if (!hasFailed) return;
      run.failed ??= file;
      watcher.setState({ interrupted: true });
    };
    this.on('test-file-success', ([{ path }, { numFailingTests, testExecError }]) =>
      end(path, numFailingTests > 0 || Boolean(testExecError)),
    );
    this.on('test-file-failure', ([{ path }]) => end(path, true));
    return super.runTests(tests, watcher, options);
  }
}
