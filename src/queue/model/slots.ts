// The slots that a job takes of the `concurrency` of its queue and its process. See docs/internals/slots.md.
import { numberOrRange, wholeNumber } from '../validation/numbers.js';

/** The slots of jobs whose enqueue may say how many. */
export interface SlotRange {
  /** The slots of a job whose enqueue says none. @default 1 */
  default?: number | undefined;
  /** The most slots of a job. A job whose enqueue says more takes this many. */
  most: number;
}

const MOST_SLOTS = 1_000;

/** The schema of the slots of one job. */
export const slotsSchema = wholeNumber(1, MOST_SLOTS);

/** The schema of the slots of a handler. */
export const handlerSlotsSchema = numberOrRange(1, MOST_SLOTS);

/**
 * Returns the slots that a job takes.
 *
 * @param handler the slots of its handler
 * @param asked the slots that its enqueue says. They count only in a range
 */
export function slotsTaken(handler: number | SlotRange = 1, asked?: number): number {
  return typeof handler === 'number' ? handler : Math.min(asked ?? handler.default ?? 1, handler.most);
}

/** Returns the slots of the lightest and the heaviest job of a handler. */
export function slotBounds(handler: number | SlotRange = 1): { lightest: number; heaviest: number } {
  return typeof handler === 'number'
    ? { lightest: handler, heaviest: handler }
    : { lightest: 1, heaviest: handler.most };
}
