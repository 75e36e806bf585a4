// Converts a project: all its files are read, and those that change are printed anew.
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

/** Returns the new texts of the files that change, and what there is to say. */
export function convert(project: Project): { changes: Change[]; findings: Finding[] } {
  const app = new App(project.getSourceFiles());
  const findings = new Findings();
  const changes = app.affected().map((file) => ({
    path: file.getFilePath(),
    before: file.getFullText(),
    after: new Rewriter(file, app, RULES, findings).print(),
  }));
  return { changes: changes.filter(({ before, after }) => before !== after), findings: findings.list };
}
