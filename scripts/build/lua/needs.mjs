// The line `-- Needs:` at the end of a library's header: the names that the library reads and does not define. A name
// stands by itself where the including script defines it. Names of another library stand as that library's path.

const MOST_COLUMNS = 120;

/**
 * Returns what each library needs, in order.
 *
 * @param {{ name: string, file: string, definedIn: string }[]} uses of names that another file defines
 * @returns {Map<string, string[]>} by the library's file
 */
export function needsOf(uses, includesOf) {
  const definers = new Map();
  for (const { name, file, definedIn } of uses) {
    const names = definers.get(file) ?? definers.set(file, new Map()).get(file);
    names.set(name, (names.get(name) ?? new Set()).add(definedIn));
  }
  return new Map([...definers].map(([file, names]) => [file, needsIn(names, includesOf(file))]));
}

/** Returns a library's text with the line of its needs; without one for none. */
export function withNeeds(text, needs) {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.startsWith('-- Needs:'));
  if (from >= 0) lines.splice(from, 1 + countWhile(lines.slice(from + 1), (line) => line.startsWith('--   ')));
  const header = countWhile(lines, (line) => line.startsWith('-- '));
  if (needs.length > 0) lines.splice(header, 0, ...needsLines(needs));
  return lines.join('\n');
}

function needsIn(names, included) {
  const needs = [...names].flatMap(([name, files]) => {
    const [file, another] = [...files].filter((each) => !included.has(each));
    if (file === undefined) return [];
    return [another === undefined && file.startsWith('lib/') ? file.slice(0, -'.lua'.length) : name];
  });
  return [...new Set(needs)].toSorted((a, b) => a.includes('/') - b.includes('/') || (a < b ? -1 : 1));
}

function needsLines(needs) {
  const lines = ['-- Needs:'];
  needs.forEach((need, index) => {
    const word = ` ${need}${index < needs.length - 1 ? ',' : '.'}`;
    if (lines.at(-1).length + word.length > MOST_COLUMNS) lines.push('--  ');
    lines[lines.length - 1] += word;
  });
  return lines;
}

function countWhile(lines, test) {
  const index = lines.findIndex((line) => !test(line));
  return index < 0 ? lines.length : index;
}
