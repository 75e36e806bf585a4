// node scripts/print-totals.mjs FILE FAILED_STEPS
// Sums what scripts/totals-reporter.mjs wrote and prints "N passed, N failed". Exits 1 unless all is well.
import { readFileSync } from 'node:fs';

const [file, failedSteps] = process.argv.slice(2);
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const line of readFileSync(file, 'utf8').split('\n')) {
  if (line === '') continue;
  const totals = JSON.parse(line);
  for (const key of Object.keys(sum)) sum[key] += totals[key];
}
// A step that failed without a failing test, lint for example, must show in the totals too.
if (sum.failed === 0) sum.failed = Number(failedSteps);
console.log(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ''}`);
process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0;
