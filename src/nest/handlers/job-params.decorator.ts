import type { PipeTransform, Type, ArgumentsHost } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { StandardSchema } from '../../queue/validation/validate-with-schema.js';
import type { Job } from '../../worker/handlers/job.js';

/** The numbers of parameter types in Nest. Pipes see the payload as a body. A validation pipe skips the job. */
const JOB_TYPE = 0;
const PAYLOAD_TYPE = 3;

/** A pipe, or its class, which Nest makes. A schema with a method `transform` is none. */
export type Pipe = (Type<PipeTransform> | PipeTransform) & { readonly '~standard'?: never };

/** The schema of a payload parameter, for the StandardSchemaValidationPipe of NestJS 12. */
export interface JobPayloadOptions {
  /** A Standard Schema, such as one of zod. A StandardSchemaValidationPipe of the parameter, handler or app applies it. */
  schema?: StandardSchema | undefined;
  /** Run on the parameter, in their order. */
  pipes?: readonly Pipe[] | undefined;
}

/**
 * Injects the payload of the job, or one of its fields, into a parameter of a handler. The pipes run in order, after those
 * of the method, the class and the app. An error of a pipe fails the job without a retry.
 *
 * @throws InvalidOptionError for a schema in the place of a pipe. At boot for a schema that no pipe applies
 * @example handle(@JobPayload(ValidationPipe) email: EmailDto) { … }
 * @example handle(@JobPayload('userId', ParseIntPipe) userId: number, \@JobRef() job: Job) { … }
 * @example handle(@JobPayload({ schema: emailSchema, pipes: [StandardSchemaValidationPipe] }) email: Email) { … } // NestJS 12
 */
export function JobPayload(...pipes: Pipe[]): ParameterDecorator;
/** Injects the payload, checked by a schema. */
export function JobPayload(options: JobPayloadOptions): ParameterDecorator;
/** Injects a field of the payload, through pipes. */
export function JobPayload(field: string, ...pipes: Pipe[]): ParameterDecorator;
/** Injects a field of the payload, checked by a schema. */
export function JobPayload(field: string, options: JobPayloadOptions): ParameterDecorator;
export function JobPayload(...args: (string | JobPayloadOptions | Pipe)[]): ParameterDecorator {
  const [first, ...others] = args;
  const field = typeof first === 'string' ? first : undefined;
  const rest = field === undefined ? args : others;
  const [only] = rest;
  const { schema, pipes } = isOptions(only) ? only : { schema: undefined, pipes: rest as Pipe[] };
  checkPipes(pipes ?? []);
  return parameter('@JobPayload', PAYLOAD_TYPE, { data: field, schema, pipes: [...(pipes ?? [])] });
}

/** How to apply a schema. */
export const WRITE_PIPES =
  'Write @JobPayload({ schema, pipes: [StandardSchemaValidationPipe] }), or bind the handler to a definition: ' +
  '@JobHandler(defineJob(name, { payload: schema })).';

/** @throws InvalidOptionError, such as for a schema, whose `transform` would be called as that of a pipe */
function checkPipes(pipes: readonly unknown[]): void {
  const wrong = pipes.find((pipe) => isSchema(pipe) || !isPipe(pipe));
  if (wrong !== undefined) {
    throw new InvalidOptionError(
      '@JobPayload',
      'pipes, or { schema, pipes }',
      isSchema(wrong) ? 'a schema' : show(wrong),
      isSchema(wrong) ? WRITE_PIPES : '',
    );
  }
}

function isSchema(value: unknown): boolean {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;
}

function isPipe(value: unknown): boolean {
  return typeof value === 'function' || typeof (value as Partial<PipeTransform> | null)?.transform === 'function';
}

/** Injects the job into a parameter of a handler, beside `@JobPayload()`. */
export function JobRef(): ParameterDecorator {
  return parameter('@JobRef', JOB_TYPE, { data: undefined, schema: undefined, pipes: [] });
}

/** Gives Nest the values of the parameters of a call. */
export const jobParameters = {
  exchangeKeyForValue(type: number, data: unknown, args: unknown): unknown {
    const [job] = args as [Job];
    if (type !== PAYLOAD_TYPE) {
      return type === JOB_TYPE ? job : undefined;
    }
    return typeof data === 'string' ? (job.payload as Record<string, unknown> | null)?.[data] : job.payload;
  },
};

/** A decorated parameter, as Nest stores it. */
interface ParameterRecord {
  index: number;
  pipes?: readonly Pipe[];
  schema?: unknown;
}

/** Returns the decorated parameters of a method, including those of `createParamDecorator`. */
export function parameterRecords(type: object, method: string | symbol): ParameterRecord[] {
  type Records = Record<string, ParameterRecord> | undefined;
  return Object.values((Reflect.getMetadata(ROUTE_ARGS_METADATA, type, method) as Records) ?? {});
}

function parameter(subject: string, type: number, record: object): ParameterDecorator {
  return (target, method, index) => {
    if (method === undefined || typeof target === 'function') {
      throw new InvalidOptionError(subject, 'a parameter of an instance method', show(method));
    }
    const records = (Reflect.getMetadata(ROUTE_ARGS_METADATA, target.constructor, method) ?? {}) as object;
    const added = { ...records, [`${type}:${index}`]: { index, ...record } };
    Reflect.defineMetadata(ROUTE_ARGS_METADATA, added, target.constructor, method);
  };
}

function isOptions(value: unknown): value is JobPayloadOptions {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<PipeTransform>).transform !== 'function' &&
    ('schema' in value || 'pipes' in value)
  );
}

/** The type of the ExecutionContext of a job's attempt, as `context.getType()` returns it. */
export const JOB_CONTEXT = 'job';

/**
 * Returns the job of an attempt, in a guard, an interceptor or an exception filter.
 *
 * @throws InvalidOptionError for a context without a job: check `context.getType() === 'job'` first
 * @example
 * canActivate(context: ExecutionContext) {
 *   return getJob(context).metadata.tenant !== undefined;
 * }
 */
export function getJob<Payload = unknown>(context: ArgumentsHost): Job<Payload> {
  const type: string = context.getType();
  if (type !== JOB_CONTEXT) {
    throw new InvalidOptionError(
      'getJob',
      `a context of the type '${JOB_CONTEXT}'`,
      show(type),
      `Ask context.getType<string>() === '${JOB_CONTEXT}' first.`,
    );
  }
  return context.getArgByIndex<Job<Payload>>(0);
}
