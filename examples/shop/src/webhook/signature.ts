import { createHmac, timingSafeEqual } from 'node:crypto';

const SECRET = process.env.WEBHOOK_SECRET ?? 'only-for-the-example';
const TOLERANCE_MS = 5 * 60_000;

/** Returns the header of a signed body: `t=1735689600000,v1=<HMAC-SHA256 of "t.body" as hex>`. */
export function sign(body: string | Buffer, now = Date.now()): string {
  return `t=${now},v1=${hmac(now, body).toString('hex')}`;
}

/** Returns whether the header is a recent signature of this body. An intercepted one soon expires. */
export function isSigned(body: string | Buffer, header: string | undefined, now = Date.now()): boolean {
  const parts = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/.exec(header ?? '');
  if (!parts) return false;
  const signedAt = Number(parts[1]);
  if (Math.abs(now - signedAt) > TOLERANCE_MS) return false;
  return timingSafeEqual(hmac(signedAt, body), Buffer.from(parts[2]!, 'hex'));
}

function hmac(time: number, body: string | Buffer): Buffer {
  return createHmac('sha256', SECRET).update(`${time}.`).update(body).digest();
}
