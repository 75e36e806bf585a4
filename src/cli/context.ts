import type { Output } from './output.js';
import type { Progress } from './progress.js';
import type { Session } from './redis/session.js';
import type { Part } from './text.js';

/** The context of a command. */
export interface Context {
  session: Session;
  out: Output;
  /** Asks before something is destroyed. @throws CliError if the answer is no, or without a terminal to ask on */
  confirm(what: () => Part | Promise<Part>): Promise<void>;
  /** True if all details are shown. */
  verbose: boolean;
  /** Shows how far long work is, on a terminal. */
  progress: Progress;
  /** Sets the exit code of a command that goes well. */
  exit(code: number): void;
}

/** Adds an action that has a connection while it runs. */
export type Run = (
  action: (
    context: Context,
    args: string[],
    options: Record<string, string | boolean | undefined>,
  ) => Promise<void>,
) => (...given: unknown[]) => Promise<void>;
