// A jest reporter that fails a run whose selection matched nothing. Jest itself fails only if no file at all was found.
// A second path that names no test file, or a name (-t) that no test has, would pass unseen.
export default class SelectionReporter {
  constructor(globalConfig) {
    this.config = globalConfig;
  }

  onRunComplete(_contexts, results) {
    this.problems = this.isWholeSelection(results) ? this.problemsOf(results) : [];
    for (const problem of this.problems) console.error(problem);
  }

  /** Fails the run. */
  getLastError() {
    return this.problems?.length > 0 ? new Error(this.problems.join('\n')) : undefined;
  }

  /** Returns false where jest ran a part of the files, or where the arguments are sources and no test files. */
  isWholeSelection({ wasInterrupted }) {
    const { watch, watchAll, findRelatedTests, shard, bail } = this.config;
    return !wasInterrupted && !watch && !watchAll && !findRelatedTests && !shard && !bail;
  }

  problemsOf({ testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const { testPathPatterns, testNamePattern, rootDir } = this.config;
    const paths = testResults.map(({ testFilePath }) => testFilePath);
    const Patterns = testPathPatterns.constructor;
    const isFound = (pattern) => {
      const executor = new Patterns([pattern]).toExecutor({ rootDir });
      return paths.some((path) => executor.isMatch(path));
    };
    const problems = testPathPatterns.patterns
      .filter((pattern) => !isFound(pattern))
      .map((pattern) => `No test file matches "${pattern}".`);
    if (numPassedTests + numFailedTests + numRuntimeErrorTestSuites > 0) return problems;
    return [...problems, testNamePattern ? `No test has a name like "${testNamePattern}".` : 'No test ran.'];
  }
}
