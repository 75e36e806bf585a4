import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';

export interface Item {
  title: string;
  quantity: number;
  priceCents: number;
}

export interface Invoice {
  number: string;
  date: Date;
  customer: string;
  items: Item[];
}

export function totalCents(items: Item[]): number {
  return items.reduce((sum, { quantity, priceCents }) => sum + quantity * priceCents, 0);
}

export function drawInvoice({ number, date, customer, items }: Invoice): Promise<Buffer> {
  const pdf = new PDFDocument({ size: 'A4', info: { Title: `Invoice ${number}` } });
  pdf.fontSize(24).text(`Invoice ${number}`).moveDown();
  pdf
    .fontSize(12)
    .text(`For ${customer}, ${date.toISOString().slice(0, 10)}`)
    .moveDown();
  for (const { title, quantity, priceCents } of items) {
    pdf.text(`${quantity} × ${title}: ${euros(quantity * priceCents)}`);
  }
  pdf.moveDown().text(`Total: ${euros(totalCents(items))}`);
  pdf.end();
  return buffer(pdf);
}

function euros(cents: number): string {
  return `EUR ${(cents / 100).toFixed(2)}`;
}
