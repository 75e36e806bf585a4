import { ForbiddenException, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** What nobody but this machine can be called: a foreign name may be made to lead here, an address of loopback may not. */
const LOOPBACK_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/**
 * Lets nobody use the shop through the browser of somebody who visits another site: a request that such a site sends,
 * or one that reached a loopback address under a foreign name, is refused. Requests of programs, curl for one, pass.
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
