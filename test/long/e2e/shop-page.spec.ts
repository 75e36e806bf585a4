// What the shop's page says about its own code.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { labelOf, outcomeOf } from '../../../examples/shop/src/jobs/label.js';

const SHOP = new URL('../../../examples/shop/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, SHOP), 'utf8');
const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };
const job = (name: string, payload: unknown) => labelOf({ name, payload });
const squeeze = (text: string) => text.replaceAll(/\s+/g, ' ');

describe('each line of code on the page', () => {
  const lines = [...read('public/index.html').matchAll(/<code\s+data-file="([^"]+)"\s*>([^]*?)<\/code\s*>/g)];

  it.each(
    lines.map(([, file, html]) => ({ file: file!, code: html!.replace(/&\w+;/g, (name) => entities[name]!) })),
  )('is in the file that it names: $file, $code', ({ file, code }) =>
    expect(squeeze(read(`src/${file}`))).toContain(squeeze(code).trim()),
  );

  it('is at most twelve lines of an app, beside the story', () => {
    const twelve = lines
      .filter(([, file]) => file === 'twelve-lines.ts')
      .flatMap(([, , html]) => html!.split('\n'));
    expect(twelve.length).toBe(11);
  });

  it('is beside each action, each slider and each step', () => expect(lines).toHaveLength(29));
});

describe('a job in words', () => {
  it('names its person or product, and never fails', () => {
    expect(job('email', { recipient: 'ada@example.com', order: 21 })).toBe('Mail to ada@…, order 21');
    expect(job('email', { to: 'grace@example.com', subject: 'Hello' })).toBe('Mail to grace@…, “Hello”');
    expect(job('email', { to: `${'x'.repeat(50)}@example.com`, order: 4 })).toBe(
      `Mail to ${'x'.repeat(30)}…, order 4`,
    );
    expect(job('webhook', { event: 'order.paid', data: { order: 3 } })).toBe('Webhook order.paid, order 3');
    expect(job('thumbnail', { product: 'mug', width: 240 })).toBe('Thumbnail of the mug, 240 px');
    expect(job('invoice', { customer: 'Ada Lovelace' })).toBe('Invoice for Ada Lovelace');
    expect(job('report', { year: 2025 })).toBe('Report of 2025');
    expect(job('other', { kind: 'fax', recipient: '+44' })).toBe('fax for +44');
    for (const odd of [null, undefined, 5, 'text', [], {}, { to: {} }, { order: 'x' }]) {
      for (const name of ['email', 'webhook', 'thumbnail', 'invoice', 'report', 'other', 'constructor', '']) {
        expect(typeof job(name, odd)).toBe('string');
        expect(typeof outcomeOf({ name, result: odd })).toBe('string');
      }
    }
    expect(job('email', { x: 'x'.repeat(1_000_000) }).length).toBeLessThan(300);
  });

  it('names its outcome', () => {
    expect(outcomeOf({ name: 'invoice', result: { totalCents: 4_300, bytes: 1 } })).toBe('EUR 43.00');
    expect(outcomeOf({ name: 'thumbnail', result: { width: 240, height: 180, bytes: 3_210 } })).toBe(
      '240 × 180, 3.2 kB',
    );
    expect(outcomeOf({ name: 'unknown', result: { a: 1 } })).toBe('{"a":1}');
  });
});
