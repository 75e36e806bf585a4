import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import { REQUEST_CONTEXT_ID } from '@nestjs/core/router/request/request-constants.js';
import type { Job } from '../../worker/handlers/job.js';
import type { HandlerHost, Wrapper } from './handler-host.js';

/** A context id with the payload of a strategy for durable providers. */
type Context = ContextId & { payload?: unknown };

/** An instance for one attempt, and the context that its scoped dependencies live in. */
interface ScopedInstance {
  instance: HandlerHost['instance'];
  contextId: ContextId;
}

/** Returns whether a provider is created for each attempt. */
export function isScoped(wrapper: Wrapper): boolean {
  return wrapper.isTransient || !wrapper.isDependencyTreeStatic();
}

/** Returns whether a provider can be called: Nest has made it, or makes it for each attempt. */
export function isMade(wrapper: Wrapper): boolean {
  return isScoped(wrapper) || wrapper.getInstanceByContextId(STATIC_CONTEXT).isResolved === true;
}

/**
 * Makes the instance of a scoped handler for one attempt: the job is the request. The context is dropped after the
 * attempt, except for durable providers, whose strategy keeps it.
 */
export async function resolveForAttempt(wrapper: Wrapper, job: Job): Promise<ScopedInstance> {
  const ref = wrapper.host!.getProviderByKey<ModuleRef>(ModuleRef).instance;
  const contextId = contextOf(wrapper, job, ref);
  const instance: unknown = await ref.resolve(wrapper.token, contextId, { strict: true });
  return { instance: instance as HandlerHost['instance'], contextId };
}

/** Stores the context as Nest does for an HTTP request: `ContextIdFactory.getByRequest(job)` finds it from now on. */
function contextOf(wrapper: Wrapper, job: Job, ref: ModuleRef): ContextId {
  const contextId: Context = ContextIdFactory.getByRequest(job);
  Object.defineProperty(job, REQUEST_CONTEXT_ID, { value: contextId, enumerable: false, configurable: true });
  const isDurable = wrapper.isDependencyTreeDurable();
  const request = isDurable ? contextId.payload : Object.assign(job, contextId.payload);
  ref.registerRequestByContextId(request, contextId);
  return contextId;
}
