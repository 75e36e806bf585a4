// Converts a project: all its files are read, and those that change are printed anew.
import { relative } from 'node:path';
import type { Project } from 'ts-morph';
import { App } from './app/app.js';
import { Findings, type Finding } from './rewrite/findings.js';
import { Rewriter } from './rewrite/rewriter.js';
import { RULES } from './rules/rules.js';

/** A file that changes. */
export interface Change {
  path: string;
  before: string;
  after: string;
}

/** Returns the new texts of the changed files, and the findings. @param say receives a line of progress for each step */
export function convert(
  project: Project,
  say: (text: string) => void = () => undefined,
): { changes: Change[]; findings: Finding[] } {
  const files = project.getSourceFiles().filter((file) => !file.isDeclarationFile());
  say(`Looking for queues, processors and options in ${files.length} files`);
  const app = new App(files);
  const affected = app.affected();
  const findings = new Findings();
  const changes = affected.map((file, i) => {
    const path = file.getFilePath();
    say(`Converting file ${i + 1} of ${affected.length}: ${relative('.', path)}`);
    return { path, before: file.getFullText(), after: new Rewriter(file, app, RULES, findings).print() };
  });
  return { changes: changes.filter(({ before, after }) => before !== after), findings: findings.list };
}
