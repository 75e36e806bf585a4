// What a run says to the person who started it.
import { relative } from 'node:path';
import type { Change } from './convert.js';
import type { Finding } from './rewrite/findings.js';

/** The exit codes. */
export const EXIT = { done: 0, failed: 1, usage: 2, left: 3 } as const;

/** Returns the report as text: what was converted, counted, and where a hand is needed, one by one. */
export function reportText(changes: readonly Change[], findings: readonly Finding[], isDryRun: boolean): string {
  const of = (outcome: Finding['outcome']) => findings.filter((each) => each.outcome === outcome);
  const [converted, left, dropped] = [of('converted'), of('left'), of('dropped')];
  if (changes.length === 0 && left.length === 0) return 'Nothing to convert: no file changes.\n';
  const lines = [
    `${isDryRun ? 'Would change' : 'Changed'} ${counted(changes.length, 'file')}: ${counted(converted.length, 'place')} converted, ${left.length} left with a TODO, ${counted(dropped.length, 'option')} dropped.`,
    ...counts(converted),
    ...placed('Left with a TODO', left),
    ...placed('Dropped', dropped),
  ];
  if (changes.length > 0) {
    lines.push('', 'Next: run your formatter and the compiler, read the TODOs, then remove the old packages.');
  }
  return `${lines.join('\n')}\n`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns how often each construct was converted, the most frequent first. */
function counts(converted: readonly Finding[]): string[] {
  const found = new Map<string, number>();
  for (const { text } of converted) found.set(text, (found.get(text) ?? 0) + 1);
  return [...found]
    .toSorted(([, a], [, b]) => b - a)
    .map(([text, count]) => `${String(count).padStart(5)}  ${text}`);
}

function placed(heading: string, findings: readonly Finding[]): string[] {
  if (findings.length === 0) return [];
  const places = findings.map(
    ({ file, line, text, link }) => `  ${relative('.', file)}:${line}  ${text}\n    ${link}`,
  );
  return ['', `${heading}:`, ...places];
}

/** Returns the report for programs. */
export function reportJson(changes: readonly Change[], findings: readonly Finding[]): string {
  const files = changes.map(({ path }) => relative('.', path));
  return `${JSON.stringify({ files, findings: findings.map((each) => ({ ...each, file: relative('.', each.file) })) }, undefined, 2)}\n`;
}
