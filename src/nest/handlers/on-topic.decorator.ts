import { isTopicDefinition, type TopicDefinition } from '../../queue/enqueue/define-topic.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { checkTopicName, jobNameOf } from '../../queue/model/topic.js';
import type { TypedHandlerFunction } from '../../worker/handlers/define-handler.js';
import { type DecoratorOptions, type HandlerRecord, decorate, splitSource } from './job-handler.decorator.js';

/** Options of a subscription, which are those of a handler too. */
export type OnTopicOptions = Omit<DecoratorOptions, 'thread'> & {
  /**
   * The name of the subscription, among those of the topic. Without it a renamed class or method is another subscription.
   * @default the class and the method, as in `Receipts.send`
   */
  subscription?: string | undefined;
};

/** Decorates a method that takes the payload of a topic. */
export type TypedTopicDecorator<Topic extends TopicDefinition> = <
  Method extends TypedHandlerFunction<JobDefinition<Topic['payload']>>,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Makes a method a subscription of a topic: each publication adds a job for it. The jobs are ordinary ones in a queue of their
 * own, `order.paid/receipts`, with retries, dead letters and limits. Redis keeps the subscription, so it also gets the
 * publications from a time when none of its processes ran. Can be used several times, for several topics.
 *
 * A bad name or option, or a subscription that is bound twice, stops the app's boot with an InvalidOptionError.
 *
 * @example
 * \@OnTopic('order.paid', { subscription: 'receipts', maxAttempts: 5 })
 * async send(job: Job<{ orderId: string }>) { … }
 */
export function OnTopic<Topic extends TopicDefinition>(
  topic: Topic,
  options?: OnTopicOptions,
): TypedTopicDecorator<Topic>;
/** Makes a method a subscription of a topic by its name. */
export function OnTopic(topic: string, options?: OnTopicOptions): MethodDecorator;
export function OnTopic(topic: string | TopicDefinition, given: OnTopicOptions = {}): MethodDecorator {
  return (target: object, method: string | symbol, descriptor: PropertyDescriptor) =>
    decorate(recordOf(topic, given, `${target.constructor.name}.${String(method)}`), target, method, descriptor);
}

function recordOf(topic: string | TopicDefinition, given: OnTopicOptions, place: string): HandlerRecord {
  if (typeof given !== 'object' || given === null) {
    throw new InvalidOptionError(`@OnTopic on ${place}`, 'an object of options', show(given));
  }
  const { subscription = place, ...options } = given;
  const definition = isTopicDefinition(topic) ? topic : undefined;
  const name = definition?.name ?? topic;
  checkTopicName(`topic of @OnTopic on ${place}`, name);
  const { thread } = options as DecoratorOptions;
  if (thread !== undefined) {
    const hint = 'Let the method enqueue a job, whose @JobHandler has a thread.';
    const subject = `@OnTopic(${JSON.stringify(name)}).thread on ${place}`;
    throw new InvalidOptionError(subject, 'none, because the method does the work', show(thread), hint);
  }
  checkTopicName(
    `@OnTopic(${JSON.stringify(name)}).subscription on ${place}`,
    subscription,
    'Pass a shorter or plainer one.',
  );
  const jobName = jobNameOf({ topic: name, name: subscription });
  return {
    name: jobName,
    ...splitSource(options),
    ...(definition && { definition: definition.jobsOf(jobName) }),
    subscribes: { topic: name, name: subscription },
  };
}
