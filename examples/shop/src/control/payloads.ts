import { z } from 'zod';
import type { EmailPayload } from '../email/email.handler.js';
import type { InvoicePayload } from '../invoice/invoice.handler.js';
import { PRODUCTS } from '../thumbnail/photo.js';
import type { ThumbnailPayload } from '../thumbnail/thumbnail.handler.js';
import type { WebhookPayload } from '../webhook/webhook.handler.js';

/** The payload of the Redis pattern's demo. Our handlers need further fields. */
interface PatternPayload {
  kind: string;
  recipient: string;
  n: number;
}

/** Returns the job name of a kind. Like the pattern's demo, the shop accepts any kind, with or without work for it. */
export function nameOf(kind: string): string {
  return Object.hasOwn(MAKERS, kind) ? kind : 'other';
}

interface Occasion {
  /** Counts the jobs of one call, as in the pattern. */
  n: number;
  order: number;
  /** The URL that webhooks go to. */
  receiver: string;
}

/** Returns a job of a kind for somebody. */
export function payloadOf(kind: string, recipient: string, occasion: Occasion): PatternPayload {
  return { kind, recipient, n: occasion.n, ...MAKERS[nameOf(kind)]!(recipient, occasion) };
}

const MAKERS: Record<string, (recipient: string, occasion: Occasion) => object> = {
  email: emailTo,
  webhook: webhookAbout,
  thumbnail: (_recipient, { n }) => thumbnail(n),
  invoice: invoiceFor,
  other: () => ({}),
};

function emailTo(recipient: string, { order }: Occasion): EmailPayload & { order: number } {
  return {
    order,
    to: addressOf(recipient),
    subject: `Your order no. ${order}`,
    text: 'Thank you for your order. It is on its way.',
  };
}

/** Returns an address for any text, so that no recipient causes a dead letter: `alice` is alice@example.com. */
function addressOf(recipient: string): string {
  if (z.email().safeParse(recipient).success) return recipient;
  const box = recipient.replace(/[^a-z0-9]+/gi, '-').slice(0, 60);
  return `${box.replace(/^-|-$/g, '') || 'somebody'}@example.com`;
}

function webhookAbout(customer: string, { order, receiver }: Occasion): WebhookPayload {
  return { url: receiver, event: 'order.paid', data: { customer, order }, failTimes: 0 };
}

function thumbnail(n: number): ThumbnailPayload {
  return { product: PRODUCTS[n % PRODUCTS.length]!, width: 240 };
}

function invoiceFor(customer: string, { n, order }: Occasion): InvoicePayload & { order: number } {
  const items = [
    { title: 'Mug', quantity: n, priceCents: 1_250 },
    { title: 'Poster', quantity: 1, priceCents: 1_800 },
  ];
  return { order, customer, items };
}
