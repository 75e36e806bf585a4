import type { NextFunction, Request, Response } from 'express';

/**
 * For every answer: what a job made is shown as what it is said to be, whatever its bytes look like, runs nothing, and is
 * framed by the shop's own page only. That page says more.
 */
export function safeHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'self'");
  next();
}
