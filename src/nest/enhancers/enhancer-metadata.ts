import type { Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/constants.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { Decorated } from './handler-host.js';
import { parameterRecords, WRITE_PIPES } from './job-params.decorator.js';

/** An instance, or the class that Nest makes it of. */
type Enhancer = object | Type;

const KINDS = [GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA, EXCEPTION_FILTERS_METADATA];

/** Returns whether a handler has its own enhancers or decorated parameters. */
export function hasEnhancers(handler: Decorated): boolean {
  return KINDS.some((kind) => enhancersOf(handler, kind).length > 0) || parametersOf(handler).length > 0;
}

/** Returns whether a handler has pipes, or parameters for them. */
export function hasPipes(handler: Decorated): boolean {
  return enhancersOf(handler, PIPES_METADATA).length > 0 || parametersOf(handler).length > 0;
}

/**
 * Refuses enhancers that Nest would skip without a word.
 *
 * @param globalPipes the pipes of the app that apply to jobs
 * @throws InvalidOptionError
 */
export function checkEnhancers(handler: Decorated, globalPipes: readonly object[] = []): void {
  const { subject } = handler;
  const { host } = handler.wrapper;
  if (typeof handler.method === 'symbol') {
    throw new InvalidOptionError(subject, 'a method with a text as its name, since it has enhancers', 'a symbol');
  }
  if (enhancersOf(handler, PIPES_METADATA).length > 0 && parametersOf(handler).length === 0) {
    throw new InvalidOptionError(
      subject,
      'a parameter with @JobPayload() for its pipes',
      'none',
      'Write handle(@JobPayload() payload: EmailDto).',
    );
  }
  checkSchemas(handler, globalPipes);
  const parameterPipes = parametersOf(handler).flatMap(({ pipes = [] }) => pipes);
  const classes = [...KINDS.flatMap((kind) => enhancersOf(handler, kind)), ...parameterPipes].filter(
    (each): each is Type => typeof each === 'function',
  );
  const unknown = classes.find((each) => !host?.injectables.has(each));
  if (unknown) {
    throw new InvalidOptionError(
      subject,
      'enhancers that Nest makes: those of a class in providers',
      `${unknown.name} on what a factory or value provides`,
      'Provide the class itself, or decorate it with instances: @UseGuards(new TenantGuard()).',
    );
  }
}

/** The pipes of Nest that read no schema. */
const WITHOUT_SCHEMA = /^(Parse\w+|DefaultValue|Validation)Pipe$/;

/** @throws InvalidOptionError for a schema that no pipe applies, so that any payload would reach the handler */
function checkSchemas(handler: Decorated, globalPipes: readonly object[]): void {
  const shared = [...globalPipes, ...enhancersOf(handler, PIPES_METADATA)];
  const unread = parametersOf(handler).find(
    ({ schema, pipes = [] }) => schema !== undefined && [...shared, ...pipes].every(readsNoSchema),
  );
  if (unread) {
    throw new InvalidOptionError(
      handler.subject,
      'a pipe that applies the schema of @JobPayload',
      'none',
      WRITE_PIPES,
    );
  }
}

function readsNoSchema(pipe: Enhancer): boolean {
  return WITHOUT_SCHEMA.test(typeof pipe === 'function' ? pipe.name : pipe.constructor.name);
}

function enhancersOf({ type, method }: Decorated, kind: string): Enhancer[] {
  const callback = (type.prototype as Record<PropertyKey, unknown>)[method];
  const ofMethod: unknown = typeof callback === 'function' ? Reflect.getMetadata(kind, callback) : undefined;
  return [Reflect.getMetadata(kind, type), ofMethod].flatMap((list) =>
    Array.isArray(list) ? (list as Enhancer[]) : [],
  );
}

function parametersOf({ type, method }: Decorated) {
  return parameterRecords(type, method);
}
