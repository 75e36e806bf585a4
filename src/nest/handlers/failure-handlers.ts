import { z } from 'zod';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { checkHandledName, checkQueueName } from '../../queue/validation/names.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { handlerOptionFields } from '../../worker/handlers/define-handler.js';
import type { Handler, HandlerFunction } from '../../worker/handlers/handler.js';
import type { FoundHandler } from './handler-explorer.js';

const optionsSchema = z.strictObject(
  {
    ...handlerOptionFields,
    queue: z.string({ error: "expected a queue's name" }).optional(),
    connection: z.string({ error: 'expected the name of a connection' }).optional(),
  },
  { error: 'expected an object of handler options' },
);

/** The methods decorated with `@OnJobFailed`, checked, by queue and by the name of the jobs that fail. */
export class FailureHandlers {
  private readonly byQueue = new Map<string, Map<string, FoundHandler & { handler: Handler }>>();

  /**
   * @param queueOf the queue of the jobs of a name, if neither the options nor a definition name it
   * @returns the queue
   * @throws InvalidOptionError
   */
  add(found: FoundHandler, handle: HandlerFunction, queueOf: (name: string) => string): string {
    const { subject, name, options, definition } = found;
    checkHandledName(name, subject);
    const {
      queue: given,
      connection: _connection,
      ...handlerOptions
    } = checkOptions(subject, optionsSchema, options);
    const queue = given ?? definition?.defaults.queue ?? queueOf(name);
    checkQueueName(queue);
    const handlers = this.byQueue.get(queue) ?? new Map<string, FoundHandler & { handler: Handler }>();
    const other = handlers.get(name);
    if (other) {
      throw new InvalidOptionError(
        subject,
        `one handler of the failures of "${name}" in queue "${queue}"`,
        `another one, ${other.subject}`,
        'Call the second from the first.',
      );
    }
    handlers.set(name, { ...found, handler: { ...handlerOptions, handle } });
    this.byQueue.set(queue, handlers);
    return queue;
  }

  /** Each handler's place in errors, with the queue and the name of the jobs that fail. */
  get all(): { queue: string; name: string; subject: string }[] {
    return [...this.byQueue].flatMap(([queue, handlers]) =>
      [...handlers].map(([name, { subject }]) => ({ queue, name, subject })),
    );
  }

  /** The queues with such handlers. */
  get queueNames(): string[] {
    return [...this.byQueue.keys()];
  }

  /** Returns the handlers of a queue for a worker. */
  of(queue: string): Record<string, Handler> {
    const handlers = [...(this.byQueue.get(queue) ?? [])];
    return Object.fromEntries(handlers.map(([name, { handler }]) => [name, handler]));
  }
}
