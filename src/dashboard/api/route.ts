import { Get, Inject, Post, Req, Res } from '@nestjs/common';
import type { z } from 'zod';
import type { DashboardRequest } from '../dashboard-options.js';
import type { NewAction } from '../../queue/actions/noted-action.js';
import { ACTIONS, actionOf, type LoggedAction, permissionsOf } from '../../queue/model/actions.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import { declareRoute } from '../security/declared-route.js';
import type { Need } from '../security/permissions.js';
import type { TextFile } from '../views/job-file.js';
import { RouteRunner, type Call, type ChangeCall, type Outcome, type QueueCall } from './route-runner.js';

type CallOf<Input> = Input extends { queue: string } ? QueueCall : Call;
/** A decorator of methods of this type only. */
type Declares<Method> = <Own extends Method>(
  target: object,
  key: string,
  found: TypedPropertyDescriptor<Own>,
) => void;

/** What the input of a change may name. */
interface Named {
  queue: string;
  id?: string;
  ids?: readonly string[];
  group?: string;
}

interface Change<Input, Controller> {
  /** Returns the permissions that the change needs. @default those of the action of its entry */
  needs?(input: Input, controller: Controller): readonly Need[] | Promise<readonly Need[]>;
  /** Returns its entry in the action log. */
  logs(input: Input): NewAction;
}

/** The base of controllers. Their routes are declared by the decorators of this file, and by no others. */
export abstract class Routes {
  @Inject(RouteRunner) protected readonly runner!: RouteRunner;
}

/**
 * Declares a route that reads. Its query is checked by the schema, and its value is sent as JSON.
 *
 * @param needs the permissions; by default `view` of the queue in the query
 */
export function Reads<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  needs: (input: z.output<Schema>) => readonly Need[] = viewOf,
): Declares<(input: z.output<Schema>, call: CallOf<z.output<Schema>>) => unknown> {
  return (target, key, found) => {
    const route = { schema, needs, run: runOf(found) };
    serve(target, key, found, Get(path), function (request, response) {
      return this.runner.read(this, route, request, response);
    });
  };
}

/** Declares a route whose value is downloaded as a file. Otherwise it is as one of `Reads`. */
export function Downloads<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  needs: (input: z.output<Schema>) => readonly Need[],
): Declares<(input: z.output<Schema>, call: CallOf<z.output<Schema>>) => Promise<TextFile>> {
  return (target, key, found) => {
    const route = { schema, needs, run: runOf(found) };
    serve(target, key, found, Get(path), function (request, response) {
      return this.runner.download(this, route, request, response);
    });
  };
}

/**
 * Declares a route that changes something. Its body is checked by the schema. Then follow the permissions, the name of
 * the user, the entry in the action log, and the change.
 */
export function Changes<Schema extends z.ZodType<{ queue: string }>, Controller extends Routes>(
  path: string,
  schema: Schema,
  { logs, needs = (input) => needsOf(logs(input).action, input) }: Change<z.output<Schema>, Controller>,
): Declares<(input: z.output<Schema>, call: ChangeCall) => Promise<Outcome>> {
  return (target, key, found) => {
    const route = { schema, needs, logs, run: runOf(found) };
    serve(target, key, found, Post(path), function (request, response) {
      return this.runner.change(this, route, request, response);
    });
  };
}

/** Declares a file of the page. It may be opened by a link of another site. */
export function Serves(
  path: string,
  needs: readonly Need[],
): Declares<(request: never, response: unknown) => unknown> {
  return (target, key, found) => {
    const method = found.value!;
    serve(target, key, found, Get(path), async function (request, response) {
      await this.runner.admit(request, needs);
      return method.call(this, request as never, response);
    });
    declareRoute(found.value!, 'page');
  };
}

/** Declares a stream of events. It needs `view` to open; its method decides what each event may show. */
export function Streams(path: string): Declares<(request: DashboardRequest, response: unknown) => void> {
  return (target, key, found) => {
    const method = found.value!;
    serve(target, key, found, Get(path), async function (request, response) {
      await this.runner.admit(request, [{ action: 'view' }]);
      method.call(this, request, response);
    });
  };
}

/** Replaces the method by a handler of Nest, whose arguments are the request and the response. */
function serve(
  target: object,
  key: string,
  found: PropertyDescriptor,
  method: MethodDecorator,
  handler: (this: Routes & { runner: RouteRunner }, request: DashboardRequest, response: unknown) => unknown,
): void {
  found.value = handler;
  Req()(target, key, 0);
  Res()(target, key, 1);
  method(target, key, found);
  declareRoute(handler, 'api');
}

function runOf({ value }: PropertyDescriptor) {
  const method = value as (input: unknown, call: Call) => never;
  return (controller: object, input: unknown, call: Call) => method.call(controller, input, call);
}

/** Returns the permissions of an action on what its input names. */
function needsOf(action: LoggedAction, input: Named): Need[] {
  const { queue, id, ids, group } = input;
  const name = actionOf(action);
  const subject: Omit<Need, 'action'> = withoutUndefined({ queue, id, ids, group });
  return permissionsOf(name).map((permission) => ({
    action: permission,
    ...subject,
    isBlind: 'isBlind' in ACTIONS[name],
  }));
}

function viewOf(input: unknown): Need[] {
  const { queue } = (input ?? {}) as { queue?: string };
  return [{ action: 'view', ...(queue !== undefined && { queue }) }];
}
