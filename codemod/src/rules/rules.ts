// All rules. The first that knows a node prints it.
import type { Rule } from '../rewrite/rewriter.js';
import { listeners } from './events.js';
import {
  countMembers,
  endings,
  jobCalls,
  jobMembers,
  jobMemberTypes,
  jobOptionMembers,
  jobPatterns,
  nextAttempt,
  scheduleMembers,
  stateComparisons,
} from './job-members.js';
import { optionMembers, optionObjects } from './job-options.js';
import { modules } from './modules.js';
import { boards, leftovers, methodTypes, missing, names, standIns, types } from './names.js';
import { bullMethod, processMethod, processorDecorator, workerHost, workerMembers } from './processors.js';
import { bulkItems, queueCalls } from './queue-calls.js';

const imports: Rule = (node, r) => r.imports.placeholderOf(node);

export const RULES: readonly Rule[] = [
  imports,
  endings,
  processorDecorator,
  workerHost,
  workerMembers,
  processMethod,
  bullMethod,
  listeners,
  modules,
  queueCalls,
  nextAttempt,
  stateComparisons,
  jobCalls,
  jobOptionMembers,
  jobMembers,
  jobMemberTypes,
  jobPatterns,
  countMembers,
  scheduleMembers,
  bulkItems,
  optionObjects,
  optionMembers,
  missing,
  methodTypes,
  types,
  names,
  standIns,
  boards,
  leftovers,
];
