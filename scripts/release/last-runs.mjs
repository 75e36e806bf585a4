// The column "last passed" of docs/proof.md. With RECORD_RUNS=1 a whole run of tests writes its date for each spec, folder and
// command that the page names. A row shows the oldest date of what it names.
import { readFileSync, writeFileSync } from 'node:fs';

const page = new URL('../../docs/proof.md', import.meta.url);
const record = new URL('../../docs/internals/figures/last-runs.json', import.meta.url);
const TABLES = ['invariants', 'faults', 'claims'];

/** Returns the specs, folders of specs and commands that a text names. */
export function namesIn(text) {
  const specs = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path);
  const commands = [...text.matchAll(/`(npm run [\w:-]+)`/g)].map(([, command]) => command);
  return [...specs, ...commands];
}

/** Returns the oldest date of what a row's text names, or a dash where one of them has no date. */
export function lastPassed(shown, dates) {
  const found = namesIn(shown).map((name) => dates[name]);
  return found.includes(undefined) ? '–' : found.reduce((oldest, date) => (date < oldest ? date : oldest));
}

/** Returns the page with the dates in the last column of its tables. */
export function fillDates(text, dates) {
  return TABLES.reduce((filled, mark) => {
    const [before, after] = filled.split(`<!-- table: ${mark} -->\n\n`);
    const lines = after.split('\n');
    const end = lines.findIndex((line) => !line.startsWith('|'));
    const rows = lines.slice(0, end).map((line, at) => (at < 2 ? line : dated(line, dates)));
    return `${before}<!-- table: ${mark} -->\n\n${[...rows, ...lines.slice(end)].join('\n')}`;
  }, text);
}

function dated(line, dates) {
  const cells = line.split('|').slice(1, -1);
  return `|${[...cells.slice(0, -1), ` ${lastPassed(line, dates)} `].join('|')}|`;
}

/** Writes today's date for the names that passed, and drops the dates of names that the page has no more. */
export function recordRuns(hasPassed) {
  const text = readFileSync(page, 'utf8');
  const dates = readDates();
  const today = new Date().toISOString().slice(0, 10);
  const names = [...new Set(namesIn(text))];
  const entries = names.map((name) => [name, hasPassed(name) ? today : dates[name]]);
  const known = Object.fromEntries(entries.filter(([, date]) => date));
  writeFileSync(record, `${JSON.stringify(known, null, 2)}\n`);
  writeFileSync(page, fillDates(text, known));
}

/** Returns the date on which each name has passed last. */
export function readDates() {
  return JSON.parse(readFileSync(record, 'utf8'));
}
