// The file that Sentry's page asks for, loaded before the app. Its transport keeps the envelopes instead of sending them.
import * as Sentry from '@sentry/nestjs';

/** An event, a transaction, or another item of an envelope. */
export interface SentItem {
  message?: string;
  transaction?: string;
  exception?: { values: { value: string }[] };
  tags?: Record<string, unknown>;
  contexts?: { trace?: { trace_id?: string; op?: string; data?: Record<string, unknown> } };
  spans?: { op?: string; data: Record<string, unknown> }[];
}

export const sent: SentItem[] = [];

Sentry.init({
  dsn: 'https://public@sentry.invalid/1',
  tracesSampleRate: 1,
  transport: (options) =>
    Sentry.createTransport(options, ({ body }) => {
      const lines = (typeof body === 'string' ? body : new TextDecoder().decode(body)).split('\n');
      sent.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as SentItem));
      return Promise.resolve({ statusCode: 200 });
    }),
});
