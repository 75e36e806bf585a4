import { Controller, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { ActionsController } from './api/actions.controller.js';
import { BatchesController } from './api/batches.controller.js';
import { GroupsController } from './api/groups.controller.js';
import { HistoryController } from './api/history.controller.js';
import { JobController } from './api/job.controller.js';
import { JobsController } from './api/jobs.controller.js';
import { LimitsController } from './api/limits.controller.js';
import { RunsController } from './api/runs.controller.js';
import { SchedulesController } from './api/schedules/schedules.controller.js';
import { SearchController } from './api/search/search.controller.js';
import { SessionController } from './api/session.controller.js';
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
  RunsController,
  SchedulesController,
];

/**
 * Makes controllers for one path, behind the app's guards. Each gets a new class, so that two dashboards of one app do
 * not share a path.
 */
export function mountControllers({ path, guards }: ResolvedMount): Type<object>[] {
  return CONTROLLERS.map((base) => {
    requireDeclaredRoutes(base);
    const mounted = { [base.name]: class extends base {} }[base.name]!;
    Controller({ path, version: VERSION_NEUTRAL })(mounted);
    UseGuards(AccessGuard, ...guards)(mounted);
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
  for (const key of Object.getOwnPropertyNames(prototype)) {
    const method: unknown = (prototype as Record<string, unknown>)[key];
    if (typeof method === 'function' && Reflect.hasMetadata('path', method) && routeKindOf(method) === undefined) {
      throw new Error(`The route ${name}.${key} declares no permission. Declare it by Reads, Changes, or Serves.`);
    }
  }
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
