import type { HostProcess } from './host-process.js';
import type { Output } from './output.js';
import type { Progress } from './progress.js';
import type { NamedSession } from './redis/servers.js';
import type { Session } from './redis/session.js';
import type { Part } from './text.js';

/** The context of a command that calls no Redis. */
export interface LocalContext {
  out: Output;
  stdin: HostProcess['stdin'];
  /**
   * Asks before something is destroyed.
   *
   * @param how with `onlyOnTerminal` a program need not say yes
   * @throws CliError if the answer is no, or without a terminal to ask on
   */
  confirm(what: () => Part | Promise<Part>, how?: { onlyOnTerminal: boolean }): Promise<void>;
  /** Who acts, or undefined if the machine does not know it. */
  user: string | undefined;
  /** True if all details are shown. */
  verbose: boolean;
  /** Shows how far long work is, on a terminal. */
  progress: Progress;
  /** Sets the exit code of a command that goes well. */
  exit(code: number): void;
}

/** The context of a command. */
export interface Context extends LocalContext {
  session: Session;
}

/** The context of a command for several servers. */
export interface ServersContext extends LocalContext {
  servers: readonly NamedSession[];
}

/** The options of a command line, by their names. */
export type CommandOptions = Record<string, string | boolean | undefined>;

/** Adds an action that calls no Redis. */
export type RunLocally = (
  action: (context: LocalContext, args: string[], options: CommandOptions) => Promise<void>,
) => (...given: unknown[]) => Promise<void>;

/** Adds an action that has a connection while it runs. */
export type Run = (
  action: (context: Context, args: string[], options: CommandOptions) => Promise<void>,
) => (...given: unknown[]) => Promise<void>;

/** Adds an action that has a connection to each server while it runs. */
export type RunOnServers = (
  action: (context: ServersContext, args: string[], options: CommandOptions) => Promise<void>,
) => (...given: unknown[]) => Promise<void>;
