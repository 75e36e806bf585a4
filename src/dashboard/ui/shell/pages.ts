import { overview } from '../state/live.js';

/** A page of all queues. */
interface Page {
  path: string;
  /** Opens it after `g`. */
  key: string;
  text: string;
  /** Its name beside the keys, if that is not its text. */
  long?: string;
  /** Returns whether the header links it now. Absent: always. */
  isLinked?(): boolean;
}

/** The pages of all queues, in the order of the header. */
export const PAGES: readonly Page[] = [
  { path: '', key: 'o', text: 'Overview' },
  { path: 'recurring', key: 'r', text: 'Recurring', long: 'Recurring jobs' },
  {
    path: 'limits',
    key: 'm',
    text: 'Limits',
    long: 'Limits that queues share',
    isLinked: () => (overview.value?.sharedLimits.length ?? 0) > 0,
  },
  { path: 'topics', key: 't', text: 'Topics', isLinked: () => overview.value?.hasTopics === true },
  { path: 'workers', key: 'w', text: 'Workers' },
  { path: 'log', key: 'l', text: 'Log', long: 'Action log' },
  { path: 'search', key: 's', text: 'Search all queues', isLinked: () => false },
];

/** Returns the pages that the header links now. */
export function linkedPages(): readonly Page[] {
  return PAGES.filter(({ isLinked }) => isLinked?.() ?? true);
}

/** Returns the address of a page, in parts. */
export function partsOf({ path }: Page): string[] {
  return path === '' ? [] : [path];
}
