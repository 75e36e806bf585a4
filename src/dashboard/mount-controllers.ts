import { Controller, RequestMethod, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import type { ApplicationConfig, ModuleRef } from '@nestjs/core';
import { containerOf } from '../nest/context/container-of.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { ActionsController } from './api/actions.controller.js';
import { BatchesController } from './api/batches.controller.js';
import { GroupsController } from './api/groups.controller.js';
import { HistoryController } from './api/history.controller.js';
import { JobController } from './api/job.controller.js';
import { JobsController } from './api/jobs.controller.js';
import { LimitsController } from './api/limits.controller.js';
import { ProfileController } from './api/profile.controller.js';
import { OutboxController } from './api/outbox.controller.js';
import { RunsController } from './api/runs.controller.js';
import { SchedulesController } from './api/schedules/schedules.controller.js';
import { SearchController } from './api/search/search.controller.js';
import { SharedLimitsController } from './api/shared-limits.controller.js';
import { SessionController } from './api/session.controller.js';
import { TopicsController } from './api/topics.controller.js';
import type { ResolvedMount } from './dashboard-options.js';
import { LiveController } from './api/live.controller.js';
import { PageController } from './page/page.controller.js';
import { AccessGuard } from './security/access.guard.js';
import { routeKindOf } from './security/declared-route.js';

const CONTROLLERS: readonly Type<object>[] = [
  PageController,
  SessionController,
  LiveController,
  BatchesController,
  GroupsController,
  HistoryController,
  JobsController,
  SearchController,
  JobController,
  ActionsController,
  LimitsController,
  ProfileController,
  OutboxController,
  RunsController,
  SchedulesController,
  SharedLimitsController,
  TopicsController,
];

/**
 * Makes controllers for one path, behind the app's guards. Each gets a new class, so that two dashboards of one app do
 * not share a path.
 */
export function mountControllers({ path, guards, decorators }: ResolvedMount): Type<object>[] {
  return CONTROLLERS.map((base) => {
    requireDeclaredRoutes(base);
    const mounted = { [base.name]: class extends base {} }[base.name]!;
    Controller({ path, version: VERSION_NEUTRAL })(mounted);
    UseGuards(AccessGuard, ...guards)(mounted);
    decorators.forEach((decorate) => decorate(mounted));
    copyInjections(base, mounted);
    return mounted;
  });
}

/**
 * Checks that each route of a controller declares its permissions.
 *
 * @throws Error that names the route
 */
export function requireDeclaredRoutes({ name, prototype }: Type<object>): void {
  for (const method of methodsOf(prototype as object)) {
    if (routeKindOf(method) === undefined) {
      throw new Error(
        `The route ${name}.${method.name} declares no permission. Declare it by Reads, Changes, or Serves.`,
      );
    }
  }
}

/**
 * Returns the global prefix of the app before the dashboard; '' where the app leaves it out there.
 *
 * @throws InvalidOptionError if the app leaves it out before a part of the routes. The page would not find its files
 */
export function prefixOf(ref: ModuleRef, { path }: ResolvedMount): string {
  const config: ApplicationConfig | undefined = containerOf(ref).applicationConfig;
  const prefix = (config?.getGlobalPrefix() ?? '').replaceAll(/^\/|\/$/g, '');
  const excluded = prefix === '' ? [] : (config?.getGlobalPrefixOptions().exclude ?? []);
  const base = path.replaceAll(/^\/|\/$/g, '');
  const routes = CONTROLLERS.flatMap(({ prototype }) => routesOf(prototype as object));
  const without = routes.filter(({ path: route, method }) =>
    excluded.some(
      ({ requestMethod, pathRegex }) =>
        [RequestMethod.ALL, -1, method].includes(requestMethod) &&
        pathRegex.test(`/${base}${route && `/${route}`}`),
    ),
  );
  if (without.length > 0 && without.length < routes.length) {
    throw new InvalidOptionError(
      'setGlobalPrefix.exclude',
      `${show([base, `${base}/{*path}`])} for the dashboard, or none of both`,
      `${without.length} of its ${routes.length} routes excluded`,
    );
  }
  return without.length === 0 ? prefix : '';
}

/** Returns the routes of a controller, without its own path. */
function routesOf(prototype: object): { path: string; method: RequestMethod }[] {
  return methodsOf(prototype).map((method) => ({
    path: (Reflect.getMetadata('path', method) as string).replace(/^\/$/, ''),
    method: Reflect.getMetadata('method', method) as RequestMethod,
  }));
}

/** Returns the methods of a controller that are routes. */
function methodsOf(prototype: object): { name: string }[] {
  return Object.getOwnPropertyNames(prototype)
    .map((key): unknown => (prototype as Record<string, unknown>)[key])
    .filter((method) => typeof method === 'function' && Reflect.hasMetadata('path', method)) as never;
}

/** Copies the injected tokens of a constructor. Nest reads them from the class itself. */
function copyInjections(base: Type<object>, mounted: Type<object>): void {
  for (const key of ['design:paramtypes', 'self:paramtypes']) {
    const value: unknown = Reflect.getMetadata(key, base);
    if (value !== undefined) {
      Reflect.defineMetadata(key, value, mounted);
    }
  }
}
