import type { OutputStream } from './host-process.js';
// The end of a failing command: its message and its exit code.
import { CommanderError } from 'commander';
import { EnqueueError } from '../queue/errors/enqueue-errors.js';
import {
  InvalidOptionError,
  JobQueueError,
  RedisStateError,
  RedisUnsuitableError,
} from '../queue/errors/errors.js';
import { explainState } from '../queue/errors/redis-errors.js';
import { withoutPassword, withoutPasswords } from '../queue/errors/show.js';
import { isUnanswered } from '../queue/redis/response-timeout.js';
import { CliError, EXIT } from './exit-codes.js';
import { lines, printableJson, valueOf } from './text.js';

/** Returns the error of a Redis that did not reply in time. */
export function silent(place: string): CliError {
  return new CliError(`Redis at ${place} gave no answer. ${IN_PART}`, EXIT.unreachable);
}

/** @throws CliError for an address of an option that has a password, because other users can read the arguments */
export function refusePassword(option: string, variable: string, url: URL): void {
  if (url.password !== '' || url.searchParams.has('password')) {
    const hint = `Everybody on this machine can read the arguments. Put the address into ${variable}.`;
    throw new CliError(`--${option} has a password in it. ${hint}`, EXIT.usage);
  }
}

/** Explains a refusal to delete what code declares: the command line is right, but a worker would make it again. */
export function refusedByCode(error: unknown): never {
  throw error instanceof InvalidOptionError ? new CliError(error.message) : error;
}

const IN_PART = 'What was asked for may have been done in part; run it again once Redis is back.';

/**
 * Distinguishes an outage of Redis from any other failure of a command.
 *
 * @param isCut whether the connection of the command is gone
 */
export function failureOf(error: unknown, place: string, isCut: boolean): unknown {
  if (isUnanswered(error) || isUnanswered((error as Error).cause)) {
    return silent(place);
  }
  const explained = explainState(error, `Redis at ${place}`);
  if (explained instanceof RedisStateError) {
    return explained;
  }
  const isOfConnection = error instanceof RedisUnsuitableError || error instanceof EnqueueError;
  return isCut && (isOfConnection || !isForUser(error))
    ? new CliError(`The connection to Redis at ${place} was cut. ${IN_PART}`, EXIT.unreachable)
    : error;
}

/** Prints the error on stderr, as JSON if the output is JSON. Returns the exit code. */
export function report(
  error: unknown,
  stderr: OutputStream,
  { json, verbose, usageWords }: { json: boolean; verbose: boolean; usageWords(words: string): string },
): number {
  const exitCode = exitCodeOf(error);
  const stack = withoutPasswords((error as Error).stack ?? '');
  const said = (error as Error).message;
  const message = error instanceof CommanderError ? usageWords(said) : withoutPasswords(said);
  if (json && exitCode !== EXIT.ok) {
    stderr.write(`${printableJson({ error: { code: codeOf(error), message } })}\n`);
  } else if (!(error instanceof CommanderError)) {
    // commander has said it
    const hint = isForUser(error) ? '' : '\n--verbose shows where it happened.';
    const shown = verbose && !(error instanceof CliError) ? stack || message : `${message}${hint}`;
    stderr.write(`${valueOf(lines(shown.split('\n')))}\n`);
  }
  return exitCode;
}

/** Returns an error of commander, which quotes arguments as they are, without a possible password in these. */
export function withoutQuotedPasswords(words: string): string {
  return words.replace(/(?<=').*(?=')/s, withoutPassword);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (error instanceof InvalidOptionError) {
    return EXIT.usage; // it is thrown before anything is written
  }
  return error instanceof CliError ? error.exitCode : EXIT.failed;
}

/** Returns a word for programs: of an error of the library its own, else by the exit code. */
function codeOf(error: unknown): string {
  if (error instanceof JobQueueError) {
    return error.code;
  }
  const words: Record<number, string> = {
    [EXIT.usage]: 'USAGE',
    [EXIT.notFound]: 'NOT_FOUND',
    [EXIT.unreachable]: 'REDIS_UNREACHABLE',
  };
  return words[exitCodeOf(error)] ?? 'FAILED';
}

/** Returns whether an error of the library needs no stack, because it says what was expected and found. */
function isForUser(error: unknown): error is CliError | JobQueueError {
  return error instanceof CliError || error instanceof JobQueueError;
}
