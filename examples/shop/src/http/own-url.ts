import type { Request } from 'express';

/**
 * Returns the shop's own URL, for a job that calls it. It uses the address that the request reached, not the Host
 * header. So nobody can redirect the call to another server.
 */
export function ownUrl({ socket }: Request): string {
  const address = (socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  const host = address.includes(':') ? `[${address}]` : address;
  return `http://${host}:${socket.localPort}`;
}
