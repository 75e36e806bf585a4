import type { Request } from 'express';

/**
 * The shop's own URL, for a job that calls it: by the address that this request reached, where the shop listens for
 * certain, and not by its Host header: nobody makes the shop call another server.
 */
export function ownUrl({ socket }: Request): string {
  const address = (socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  const host = address.includes(':') ? `[${address}]` : address;
  return `http://${host}:${socket.localPort}`;
}
