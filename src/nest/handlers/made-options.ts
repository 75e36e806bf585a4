import type { InjectionToken, OptionalFactoryDependency } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { checkObject } from '../../queue/validation/validate-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';
import { findProvider } from '../connection/find-provider.js';
import type { FoundHandler } from './handler-explorer.js';
import type { JobHandlerOptionsSource, MadeHandlerOptions } from './job-handler.decorator.js';

/**
 * Returns a handler with the options of its source, which win over those of its decorator.
 *
 * @throws InvalidOptionError, and errors of the source
 */
export async function withMadeOptions(found: FoundHandler): Promise<FoundHandler> {
  const { source, subject } = found;
  if (!source) {
    return found;
  }
  checkSource(subject, source);
  const made: unknown = await make(source, found.wrapper.host!.getProviderByKey<ModuleRef>(ModuleRef).instance);
  const place = `${subject}.${source.optionsFrom ? 'optionsFrom' : 'useFactory'}`;
  checkObject(place, 'an object of handler options', made);
  const fixed = ['queue', 'connection'].find((key) => key in made);
  if (fixed) {
    throw new InvalidOptionError(`${place}.${fixed}`, 'this option in the decorator', 'it in what a provider made');
  }
  return { ...found, options: { ...found.options, ...withoutUndefined(made as MadeHandlerOptions) } };
}

function checkSource(subject: string, { optionsFrom, useFactory, inject }: JobHandlerOptionsSource): void {
  if ((optionsFrom === undefined) === (useFactory === undefined)) {
    const found = optionsFrom === undefined ? 'inject alone' : 'both';
    throw new InvalidOptionError(subject, 'either optionsFrom or useFactory', found);
  }
  const made = optionsFrom ?? useFactory;
  if (typeof made !== 'function') {
    const key = optionsFrom === undefined ? 'useFactory' : 'optionsFrom';
    throw new InvalidOptionError(`${subject}.${key}`, optionsFrom ? 'a class' : 'a function', show(made));
  }
  if (inject !== undefined && (optionsFrom || !Array.isArray(inject))) {
    throw new InvalidOptionError(`${subject}.inject`, 'a list of tokens beside useFactory', show(inject));
  }
}

async function make(
  { optionsFrom, useFactory, inject = [] }: JobHandlerOptionsSource,
  ref: ModuleRef,
): Promise<unknown> {
  if (optionsFrom) {
    const factory = findProvider(ref, optionsFrom) ?? (await ref.create(optionsFrom));
    return factory.createJobHandlerOptions();
  }
  const dependencies = inject.map((each) => {
    const { token, optional } = isOptional(each) ? each : { token: each, optional: false };
    return optional ? findProvider(ref, token) : ref.get<unknown>(token, { strict: false });
  });
  return (useFactory as (...dependencies: unknown[]) => unknown)(...dependencies);
}

function isOptional(each: InjectionToken | OptionalFactoryDependency): each is OptionalFactoryDependency {
  return typeof each === 'object' && 'token' in each;
}
