import type { NextFunction, Request, Response } from 'express';

/** Takes the first value of a repeated form field, as the demo server of the Redis pattern does. */
export function flatForm(request: Request, _response: Response, next: NextFunction): void {
  const body = request.body as Record<string, unknown> | undefined;
  if (body && request.is('urlencoded')) {
    request.body = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, [value].flat()[0]]));
  }
  next();
}
