import type { NextFunction, Request, Response } from 'express';

/**
 * Sets headers on every response. The output of a job is shown as its declared type and runs no script. Only the shop's
 * page may frame it. That page sets further ones.
 */
export function safeHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'self'");
  next();
}
