// The verdict of a run, in figures.
import { allowedMs, documentedMs } from './recovery-bounds.js';
import { hitsOf } from '../faults/hits.js';
import type { Outcome } from './run.js';

const MOST_SHOWN = 40;

/** Returns the lines to print. */
export function reportOf(outcome: Outcome, judgeGrowth: boolean): string[] {
  const { jobs, seconds, violations, growth } = outcome;
  const lines = [
    '',
    `seed ${outcome.seed}: ${jobs} jobs in ${seconds.toFixed(0)} s (${Math.round(jobs / seconds)} a second)`,
    `  completed ${outcome.completed}, dead letters ${outcome.deadLetters}, cancelled ${outcome.cancelled}, ` +
      `enqueues never answered and never done ${outcome.unanswered}`,
    `  attempts ${outcome.attempts}, claims lost and refused ${outcome.refused}, ` +
      `double executions ${outcome.doubles} (allowed), losses ${outcome.lost}`,
    `  misplaced ${outcome.misplaced}, repaired by the doctor ${outcome.repaired} (broken jobs among them)`,
    `  recurring jobs ${outcome.ticks}, pauses of the queue ${outcome.pauses}, ` +
      `audits by the doctor beside the traffic ${outcome.audits.answered} of ${outcome.audits.asked}, ` +
      `minutes of the history ${outcome.minutes}`,
    ...(outcome.largestCall > 0 ? [`  the largest call of a script called ${outcome.largestCall} commands`] : []),
    `  the slowest call of a script took the server ${outcome.slowestCallMs || 'less than 10'} ms`,
    ...table(
      [
        'fault',
        'times',
        'hit',
        'no job completed',
        'an enqueue unacknowledged',
        'workers back',
        'producers back',
        'stated',
        'judged',
      ],
      outcome.recoveries.map(({ kind, count, hits, stallMs, unacknowledgedMs, workersMs, producersMs }) => [
        kind,
        `${count}`,
        hitsOf({ kind, hits }),
        ...[stallMs, unacknowledgedMs, workersMs, producersMs, documentedMs(kind), allowedMs(kind)].map(ms),
      ]),
    ),
    ...table(
      ['counter', 'is', 'at least', 'at most'],
      outcome.counters.map(({ name, ...numbers }) => [
        name,
        ...[numbers.found, numbers.least, numbers.most].map((each) => (Number.isFinite(each) ? `${each}` : '-')),
      ]),
    ),
    ...table(
      ['process', 'median of', '1st quarter', '2nd', '3rd', '4th', '4th / 2nd'],
      growth.map(({ who, what, quarters, ratio, verdict }) => [
        who,
        what,
        ...quarters.map((each) => amount(what, each)),
        `${Number.isNaN(ratio) ? '-' : ratio.toFixed(2)}${verdict === 'steady' ? '' : judgeGrowth ? ` ${verdict}` : ' (not judged)'}`,
      ]),
    ),
    ...violations.slice(0, MOST_SHOWN),
    ...(violations.length > MOST_SHOWN ? [`… and ${violations.length - MOST_SHOWN} more`] : []),
  ];
  const unsteady = judgeGrowth ? growth.filter(({ verdict }) => verdict !== 'steady').length : 0;
  const held = passes(outcome, judgeGrowth);
  return [
    ...lines,
    held
      ? `VERDICT seed ${outcome.seed}: held`
      : `VERDICT seed ${outcome.seed}: FAILED (${violations.length} violations, ${unsteady} figures grow or were not seen)`,
  ];
}

export function passes({ violations, growth }: Outcome, judgeGrowth: boolean): boolean {
  return violations.length === 0 && !(judgeGrowth && growth.some(({ verdict }) => verdict !== 'steady'));
}

function table(head: string[], rows: string[][]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return ['', ...all.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}`.trimEnd())];
}

function ms(value: number): string {
  return Number.isFinite(value) ? `${Math.round(value)} ms` : 'never';
}

function amount(what: string, value: number): string {
  if (!Number.isFinite(value)) return '-';
  return what === 'heap' || what === 'memory' ? `${(value / 1_048_576).toFixed(1)} MB` : `${Math.round(value)}`;
}
