// All rules. The first that knows a node prints it.
import type { Rule } from '../rewrite/rewriter.js';
import { listeners } from './events.js';
import { endings, jobCalls, jobMembers, jobPatterns, nextAttempt, stateComparisons } from './job-members.js';
import { optionObjects } from './job-options.js';
import { modules } from './modules.js';
import { leftovers, missing, names, types } from './names.js';
import { bullMethod, processMethod, processorDecorator, workerHost } from './processors.js';
import { queueCalls } from './queue-calls.js';

const imports: Rule = (node, r) => r.imports.placeholderOf(node);

export const RULES: readonly Rule[] = [
  imports,
  endings,
  processorDecorator,
  workerHost,
  processMethod,
  bullMethod,
  listeners,
  modules,
  queueCalls,
  nextAttempt,
  stateComparisons,
  jobCalls,
  jobMembers,
  jobPatterns,
  optionObjects,
  missing,
  types,
  names,
  leftovers,
];
