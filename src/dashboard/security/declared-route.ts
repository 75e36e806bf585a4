const ROUTE = 'nest-job-queue:dashboard-route';

/** `api` is read by the page alone. A `page` is a file that another site may link to. */
export type RouteKind = 'api' | 'page';

/** Marks a handler of Nest as a route whose permissions are checked. */
export function declareRoute(handler: object, kind: RouteKind): void {
  Reflect.defineMetadata(ROUTE, kind, handler);
}

/** Returns the kind of a handler; undefined if nothing checks its permissions. */
export function routeKindOf(handler: object): RouteKind | undefined {
  return Reflect.getMetadata(ROUTE, handler) as RouteKind | undefined;
}
