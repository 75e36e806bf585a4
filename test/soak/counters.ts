// The counters of the server against what was written down, and against each other.
import type { Verdict } from './check.js';
import type { Facts } from './facts.js';
import { DOUBT, OPEN, REMOVE_ASKED, REMOVED } from './marks.js';
import type { Snapshot } from './snapshot.js';

/** What does not add up. It also counts into the verdict what only the counting tells. */
export function miscounts(facts: Facts, { totals, jobs }: Snapshot, verdict: Verdict): string[] {
  const faults: string[] = [];
  const between = (what: string, found: number, least: number, most: number) => {
    if (found < least || found > most) faults.push(`I1: ${what} is ${found}, expected ${least} to ${most}`);
  };
  const total = (name: string) => totals[name] ?? 0;
  let [open, completed, doubts, removed, maybeRemoved] = [0, 0, 0, 0, 0];
  for (const each of facts.jobs.values()) {
    for (let number = 0; number < each.count && !each.forgotten; number++) {
      const marks = each.marks[number]!;
      if (each.state[number] === OPEN) open++;
      completed += each.completions[number]!;
      if (each.completions[number] === 0 && marks & DOUBT) doubts++;
      if (marks & REMOVED) removed++;
      else if (marks & REMOVE_ASKED) maybeRemoved++;
    }
  }
  for (const { completions, doubts: open_, sure } of facts.ticks.all.values()) {
    if (sure) verdict.jobs++;
    else open++;
    completed += completions;
    if (completions === 0 && open_.size > 0) doubts++;
  }
  verdict.completed = completed + doubts;
  const places = (place: string) => jobs.filter((job) => job.place === place).length;
  const forgotten = [...facts.jobs.values()].some((each) => each.forgotten);
  if (!forgotten) {
    between('enqueued_total', total('enqueued'), verdict.jobs, verdict.jobs + open);
    between('completed_total', total('completed'), completed, completed + doubts);
  }
  between('failed_total', total('failed'), places('dead') + total('redriven'), places('dead') + total('redriven'));
  const ended = total('completed') + total('cancelled') + places('dead') + places('waiting') + places('processing');
  between('enqueued_total less what ended or waits', total('enqueued') - ended, removed, removed + maybeRemoved);
  return faults;
}
