// A jest reporter that appends the totals of a run, one JSON line, to the file named by TEST_TOTALS_FILE.
import { appendFileSync } from 'node:fs';

export default class TotalsReporter {
  onRunComplete(_contexts, results) {
    const totals = {
      passed: results.numPassedTests,
      // A file that could not even be loaded counts as a failure.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    appendFileSync(process.env.TEST_TOTALS_FILE, JSON.stringify(totals) + '\n');
  }
}
