import { ForbiddenException, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** Addresses of this machine only. A foreign name may be made to resolve to it, a loopback address may not. */
const LOOPBACK_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/**
 * Stops other sites from using the shop through a visitor's browser. Refuses their requests, and requests that reach a
 * loopback address under a foreign name. Requests of programs such as curl pass.
 */
@Injectable()
export class SameOriginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers, method, socket } = context.switchToHttp().getRequest<Request>();
    const host = (headers.host ?? '').toLowerCase();
    if (isLoopback(socket.localAddress) && !LOOPBACK_NAMES.test(host)) {
      throw new ForbiddenException(`This server is not called ${host}.`);
    }
    if (method === 'GET' || method === 'HEAD') return true;
    const { origin } = headers;
    if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) {
      throw new ForbiddenException('Another site may not send this.');
    }
    return true;
  }
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}
