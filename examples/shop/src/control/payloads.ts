import { z } from 'zod';
import type { EmailPayload } from '../email/email.handler.js';
import type { InvoicePayload } from '../invoice/invoice.handler.js';
import { PRODUCTS } from '../thumbnail/photo.js';
import type { ThumbnailPayload } from '../thumbnail/thumbnail.handler.js';
import type { WebhookPayload } from '../webhook/webhook.handler.js';

/** What the jobs of the Redis pattern's demo carry; our handlers need more, which goes beside it. */
interface PatternPayload {
  kind: string;
  recipient: string;
  n: number;
}

/** The name of a kind's jobs: as the pattern's demo, the shop takes any kind, whether it has work for it or not. */
export function nameOf(kind: string): string {
  return Object.hasOwn(MAKERS, kind) ? kind : 'other';
}

/** The n-th job of a kind for somebody. `receiver` is the URL that webhooks go to. */
export function payloadOf(kind: string, recipient: string, n: number, receiver: string): PatternPayload {
  return { kind, recipient, n, ...MAKERS[nameOf(kind)]!(recipient, n, receiver) };
}

const MAKERS: Record<string, (recipient: string, n: number, receiver: string) => object> = {
  email: emailTo,
  webhook: webhookAbout,
  thumbnail: (_recipient, n) => thumbnail(n),
  invoice: invoiceFor,
  other: () => ({}),
};

function emailTo(recipient: string, n: number): EmailPayload {
  return {
    to: addressOf(recipient),
    subject: `Your order no. ${n}`,
    text: 'Thank you for your order. It is on its way.',
  };
}

/** A recipient may be any text, and is no reason for a dead letter: `alice` is alice@example.com. */
function addressOf(recipient: string): string {
  if (z.email().safeParse(recipient).success) return recipient;
  const box = recipient.replace(/[^a-z0-9]+/gi, '-').slice(0, 60);
  return `${box.replace(/^-|-$/g, '') || 'somebody'}@example.com`;
}

function webhookAbout(customer: string, n: number, url: string): WebhookPayload {
  return { url, event: 'order.paid', data: { customer, order: n }, failTimes: 0 };
}

function thumbnail(n: number): ThumbnailPayload {
  return { product: PRODUCTS[n % PRODUCTS.length]!, width: 240 };
}

function invoiceFor(customer: string, n: number): InvoicePayload {
  const items = [
    { title: 'Mug', quantity: n, priceCents: 1_250 },
    { title: 'Poster', quantity: 1, priceCents: 1_800 },
  ];
  return { customer, items };
}
