// Enqueues with one unique key may end up as one job, which then runs with the payload of the last. They are judged together.
import type { Facts } from '../histories/facts.js';
import { ADDED, CANCEL_ASKED, CANCELLED, DOUBT, OPEN, PLANTED, UNSURE } from '../histories/marks.js';
import type { Snapshot, StoredJob } from './snapshot.js';

interface Group {
  ids: Set<string>;
  names: Set<string>;
}

export function sharedJobs(facts: Facts, snapshot: Snapshot) {
  const sharers = new Map([...facts.sharers].map(([id, names]) => [id, new Set(names)]));
  for (const { id, work } of snapshot.jobs) {
    if (work) sharers.get(id)?.add(`${work.p}:${work.n}`);
  }
  const groups = new Map<string, Group>();
  for (const [id, names] of sharers) {
    if (names.size < 2) continue;
    const together: Group = { ids: new Set([id]), names: new Set(names) };
    for (const name of names) {
      const known = groups.get(name);
      known?.ids.forEach((each) => together.ids.add(each));
      known?.names.forEach((each) => together.names.add(each));
    }
    together.names.forEach((name) => groups.set(name, together));
  }
  return {
    names: groups,
    violations: (stored: ReadonlyMap<string, StoredJob>) =>
      [...new Set(groups.values())].flatMap((group) => judge(group, facts, stored)),
  };
}

function judge({ ids, names }: Group, facts: Facts, stored: ReadonlyMap<string, StoredJob>): string[] {
  let [completions, marks, added, there] = [0, 0, false, 0];
  for (const name of names) {
    const [process, number] = name.split(':').map(Number);
    const jobs = facts.jobs.get(process!)!;
    if (jobs.forgotten) return [];
    completions += jobs.completions[number!]!;
    marks |= jobs.marks[number!]!;
    added ||= jobs.state[number!] === ADDED || jobs.state[number!] === OPEN;
    if (stored.has(name)) there++;
  }
  const who = `jobs ${[...names].join(', ')}, known as ${[...ids].join(', ')},`;
  const faults: string[] = [];
  if (completions > ids.size) faults.push(`I2: ${who} were completed ${completions} times`);
  const accounted = completions + there > 0 || marks & (DOUBT | CANCEL_ASKED | CANCELLED | PLANTED | UNSURE);
  if (added && !accounted) faults.push(`I1: ${who} are lost`);
  return faults;
}
