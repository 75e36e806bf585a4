import { brand, brandCheck } from '../errors/brand.js';
import { keptIn } from '../runtime/collections.js';
import { checkTopicName } from '../model/topic.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { checkKnown } from '../validation/validate-options.js';
import type { InputOf, OutputOf, StandardSchema } from '../validation/validate-with-schema.js';
import { JobDefinition } from './define-job.js';

/** The options of `defineTopic`. */
export interface TopicDefinitionOptions<Payload extends StandardSchema> {
  /** The schema of the payload: a zod, valibot, arktype or any other Standard Schema. */
  payload: Payload;
}

/** A topic with the schema of its payload. Made by `defineTopic`. */
export class TopicDefinition<Payload extends StandardSchema = StandardSchema> {
  static {
    brand(this, 'TopicDefinition');
  }

  /** The name of the topic. */
  readonly name: string;
  /** The schema of the payload. */
  readonly payload: Payload;
  readonly #jobs = new Map<string, JobDefinition<Payload>>();

  /** @throws InvalidOptionError @internal */
  constructor(name: string, options: TopicDefinitionOptions<Payload>) {
    checkTopicName('topic name', name);
    checkKnown(`defineTopic(${show(name)})`, options, ['payload']);
    if (typeof options.payload?.['~standard']?.validate !== 'function') {
      throw new InvalidOptionError(
        `defineTopic(${show(name)}).payload`,
        'a schema that follows Standard Schema, such as one of zod',
        show(options.payload),
      );
    }
    this.name = name;
    this.payload = options.payload;
  }

  /** Returns the definition of its jobs of one name, always the same. @internal */
  jobsOf(name: string): JobDefinition<Payload> {
    return keptIn(this.#jobs, name, () => new JobDefinition(name, { payload: this.payload }));
  }
}

/** Returns whether it is a definition of a topic, also one of another copy of this package. */
export const isTopicDefinition: (value: unknown) => value is TopicDefinition = brandCheck('TopicDefinition');

/** The payload that a publication takes: that of the definition, or anything for a name. */
export type TopicInput<Topic> = [Topic] extends [TopicDefinition] ? InputOf<Topic['payload']> : unknown;
/** The payload that a handler of the topic gets, as the schema parsed it. */
export type TopicPayload<Definition extends TopicDefinition> = OutputOf<Definition['payload']>;

/**
 * Defines a topic for publishers and subscribers: its name, and the schema of its payload. The compiler knows the type, and
 * an invalid payload is refused with the path of the error.
 *
 * @throws InvalidOptionError
 * @example
 * export const OrderPaid = defineTopic('order.paid', { payload: z.object({ orderId: z.string() }) });
 * await jobs.publish(OrderPaid, { orderId: '17' });
 */
export function defineTopic<Payload extends StandardSchema>(
  name: string,
  options: TopicDefinitionOptions<Payload>,
): TopicDefinition<Payload> {
  return new TopicDefinition(name, options);
}
