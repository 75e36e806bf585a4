import type { EmailPayload } from '../email/email.handler.js';
import type { InvoicePayload } from '../invoice/invoice.handler.js';
import { PRODUCTS } from '../thumbnail/photo.js';
import type { ThumbnailPayload } from '../thumbnail/thumbnail.handler.js';
import type { WebhookPayload } from '../webhook/webhook.handler.js';

export const KINDS = ['email', 'webhook', 'thumbnail', 'invoice'] as const;
export type Kind = (typeof KINDS)[number];

/** What the jobs of the Redis pattern's demo carry; our handlers need more, which goes beside it. */
interface PatternPayload {
  kind: Kind;
  recipient: string;
  n: number;
}

/** The n-th job of a kind for somebody. `receiver` is the URL that webhooks go to. */
export function payloadOf(kind: Kind, recipient: string, n: number, receiver: string): PatternPayload {
  return { kind, recipient, n, ...MAKERS[kind](recipient, n, receiver) };
}

const MAKERS: Record<Kind, (recipient: string, n: number, receiver: string) => object> = {
  email: emailTo,
  webhook: webhookAbout,
  thumbnail: (_recipient, n) => thumbnail(n),
  invoice: invoiceFor,
};

function emailTo(to: string, n: number): EmailPayload {
  return { to, subject: `Your order no. ${n}`, text: 'Thank you for your order. It is on its way.' };
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
