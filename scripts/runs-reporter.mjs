// A jest reporter for RECORD_RUNS=1: writes the date of a whole run into docs/proof.md, for each spec that has passed.
import { relative } from 'node:path';
import { recordRuns } from './release/last-runs.mjs';

export default class RunsReporter {
  constructor(globalConfig) {
    this.config = globalConfig;
  }

  onRunComplete(_contexts, { testResults, wasInterrupted }) {
    const { rootDir, testPathPatterns, testNamePattern } = this.config;
    if (wasInterrupted || testNamePattern || testPathPatterns.patterns.length > 0) return;
    const files = testResults.map(({ testFilePath, numFailingTests, testExecError }) => ({
      path: relative(rootDir, testFilePath),
      passed: numFailingTests === 0 && !testExecError,
    }));
    recordRuns((name) => {
      const named = files.filter(({ path }) => path === name || path.startsWith(`${name}/`));
      return named.length > 0 && named.every(({ passed }) => passed);
    });
  }
}
