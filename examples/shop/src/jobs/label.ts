import type { JobRecord } from 'nest-job-queue';

type Fields = Record<string, unknown>;
type Labelled = Pick<JobRecord, 'name' | 'payload'> & { brokenPayload?: string };

const LONGEST = 240;
const LONGEST_NAME = 30;

/** Returns a description of a job: "Mail to ada@…, order 21". A payload of another shape is shown as it is. */
export function labelOf({ name, payload, brokenPayload }: Labelled): string {
  const label = Object.hasOwn(LABELS, name) ? LABELS[name]!(fieldsOf(payload)) : undefined;
  return short(label ?? `${name} ${asText(brokenPayload ?? payload)}`);
}

/** Returns a description of a job's outcome. */
export function outcomeOf({ name, result }: Pick<JobRecord, 'name' | 'result'>): string {
  const outcome = Object.hasOwn(OUTCOMES, name) ? OUTCOMES[name]!(fieldsOf(result)) : undefined;
  return short(outcome ?? asText(result));
}

const LABELS: Record<string, (payload: Fields) => string | undefined> = {
  email: ({ recipient, to, subject, order }) =>
    join(whom('Mail to', recipient ?? to), numbered(order) ?? (isText(subject) ? `“${subject}”` : undefined)),
  webhook: ({ event, order, data }) =>
    isText(event) ? join(`Webhook ${event}`, numbered(order ?? fieldsOf(data).order)) : undefined,
  thumbnail: ({ product, width }) =>
    isText(product) ? `Thumbnail of the ${product}, ${asText(width)} px` : undefined,
  invoice: ({ customer, order }) => join(whom('Invoice for', customer), numbered(order)),
  report: ({ year }) => (year === undefined ? undefined : `Report of ${asText(year)}`),
  other: ({ kind, recipient }) => (isText(kind) ? whom(`${kind} for`, recipient) : undefined),
};

const OUTCOMES: Record<string, (result: Fields) => string | undefined> = {
  email: ({ messageId }) => (messageId === undefined ? undefined : 'Sent'),
  webhook: ({ status }) => (status === undefined ? undefined : `Answered ${asText(status)}`),
  thumbnail: ({ width, height, bytes }) =>
    typeof bytes === 'number'
      ? `${asText(width)} × ${asText(height)}, ${(bytes / 1_000).toFixed(1)} kB`
      : undefined,
  invoice: ({ totalCents }) =>
    typeof totalCents === 'number' ? `EUR ${(totalCents / 100).toFixed(2)}` : undefined,
  report: ({ orders }) => (orders === undefined ? undefined : `${asText(orders)} orders`),
};

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** Leaves out the host of an address, which says less than the recipient. Keeps room for the text after a long name. */
function whom(start: string, recipient: unknown): string | undefined {
  if (!isText(recipient)) return undefined;
  const name = recipient.replace(/^([^@\s]+)@[^@\s]+$/, '$1@…');
  return `${start} ${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}`;
}

function numbered(order: unknown): string | undefined {
  return typeof order === 'number' ? `order ${order}` : undefined;
}

function join(label: string | undefined, detail: string | undefined): string | undefined {
  return label !== undefined && detail !== undefined ? `${label}, ${detail}` : label;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Shortens a text, because a payload may have a megabyte. */
function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
