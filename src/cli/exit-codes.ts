// The exit codes of the command line; docs/cli.md lists them.
import { outcomeInWords } from '../inspect/job-words.js';
import type { Severity } from '../inspect/queue-signs.js';
import type { JobOutcome } from '../queue/model/job-event.js';

export const EXIT = {
  ok: 0,
  /** The command failed. */
  failed: 1,
  /** The command line itself is wrong; nothing was done. */
  usage: 2,
  /** The job, queue or schedule is not there. */
  notFound: 3,
  /** Redis cannot be reached. */
  unreachable: 4,
  /** `health`: the worst queue needs somebody today. `doctor`: faults were found and not repaired. */
  warning: 10,
  /** `health`: the worst queue needs somebody now. */
  critical: 20,
} as const;

/** Returns the exit code of a verdict. */
export function exitOf(severity: Severity): number {
  return severity === 'critical' ? EXIT.critical : severity === 'warning' ? EXIT.warning : EXIT.ok;
}

/** An end of a command with words for the user and no stack. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
  ) {
    super(message);
  }
}

/** Shows that a queue has no such job. */
export function noJob(queue: string, id: string, outcome: JobOutcome | null = null): CliError {
  const missing = `Queue ${JSON.stringify(queue)} has no job ${JSON.stringify(id)}`;
  return new CliError(outcome ? `${missing} any more. ${outcomeInWords(outcome)}` : `${missing}.`, EXIT.notFound);
}
