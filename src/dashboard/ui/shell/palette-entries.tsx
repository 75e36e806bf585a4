import type { ComponentChildren } from 'preact';
import type { EndedJobView, FoundJobsView, QueueView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { StateMark, VerdictMark } from '../parts/parts.js';
import { pauseOrResume } from '../steer/pause-button.js';
import { may, overview, queues, unreachable } from '../state/live.js';
import { go, href, route } from '../state/route.js';
import { chooseTheme, dark } from '../state/theme.js';
import { showKeys } from './keys-help.js';
import { linkedPages, partsOf } from './pages.js';

const MOST_QUEUES = 6;
const MOST_ACTIONS = 6;

/** One line of the palette. */
export interface Entry {
  key: string;
  text: string;
  /** What it is, or what happens. */
  hint: string;
  mark?: ComponentChildren;
  act(): void;
}

/** Returns what a text finds: jobs, queues, pages, actions, and at last the search over all queues. */
export function entriesOf(text: string, { jobs, ended }: Pick<FoundJobsView, 'jobs' | 'ended'>): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (entry: Entry) => words.every((word) => `${entry.text} ${entry.hint}`.toLowerCase().includes(word));
  const isNamed = (entry: Entry) => words.every((word) => entry.text.toLowerCase().includes(word));
  const current = route.value.parts[0] === 'queue' ? route.value.parts[1] : undefined;
  const acted = words.length > 0 ? queues.value : queues.value.filter(({ name }) => name === current);
  return [
    ...jobs.map((job) => jobEntry(job)),
    ...ended.map((job) => jobEntry(job, ', its record is gone')),
    ...best([...queues.value.map(queueEntry), ...spreadEntries()].filter(isNamed), text).slice(0, MOST_QUEUES),
    ...linkedPages()
      .map((page) => link({ key: `page ${page.path}`, text: page.text, hint: 'page' }, partsOf(page)))
      .filter(has),
    ...[...acted.flatMap(queueActions), ...general()].filter(has).slice(0, MOST_ACTIONS),
    searchEntry(text),
  ];
}

/** Moves what begins with the text to the front. */
function best(entries: readonly Entry[], text: string): Entry[] {
  const rank = (entry: Entry) => Number(!entry.text.toLowerCase().startsWith(text.toLowerCase()));
  return text === '' ? [...entries] : entries.toSorted((a, b) => rank(a) - rank(b));
}

function jobEntry({ queue, id, name, state }: EndedJobView, more = ''): Entry {
  const hint = `${name} in ${queue}, ${state}${more}`;
  return link({ key: `job ${queue} ${id}`, text: id, hint, mark: <StateMark state={state} /> }, ['job', queue, id]);
}

/** Returns the queues with shards, each as one. */
function spreadEntries(): Entry[] {
  return (overview.value?.queues ?? []).flatMap(({ name, verdict, shards }) =>
    shards
      ? link(
          {
            key: `spread ${name}`,
            text: name,
            hint: `all ${shards.length} shards`,
            mark: <VerdictMark {...verdict} />,
          },
          ['spread', name],
        )
      : [],
  );
}

function queueEntry({ name, verdict }: QueueView): Entry {
  const mark = <VerdictMark {...verdict} />;
  return link({ key: `queue ${name}`, text: name, hint: 'queue', mark }, ['queue', name]);
}

function queueActions(queue: QueueView): Entry[] {
  const { name, pausedAt, depths } = queue;
  const action = pausedAt === null ? 'pause' : 'resume';
  const pause: Entry = {
    key: `pause ${name}`,
    text: `${action === 'pause' ? 'Pause' : 'Resume'} ${name}`,
    hint: action === 'pause' ? 'asks for how long' : 'at once',
    act: () => void pauseOrResume(queue),
  };
  const dead = { key: `dead ${name}`, text: `Dead letters of ${name}`, hint: `${count(depths.failed)} to look at` };
  const charts = { key: `charts ${name}`, text: `Charts of ${name}`, hint: 'page' };
  return [
    ...(may(action, name) && !unreachable.value ? [pause] : []),
    ...(depths.failed > 0 ? [link(dead, ['queue', name], { state: 'failed' })] : []),
    link(charts, ['queue', name], { view: 'charts' }),
  ];
}

const general = (): Entry[] => [
  {
    key: 'theme',
    text: dark.value ? 'Use the light palette' : 'Use the dark palette',
    hint: 'action',
    act: () => chooseTheme(dark.peek() ? 'light' : 'dark'),
  },
  { key: 'keys', text: 'Show the keys', hint: 'action', act: showKeys },
];

function searchEntry(text: string): Entry {
  const words = text === '' ? 'Search all queues' : `Search all queues for “${text}”`;
  return link({ key: 'search', text: words, hint: 'errors too; payloads by a term' }, ['search'], { q: text });
}

/** An entry without its action. */
type Shown = Pick<Entry, 'key' | 'text' | 'hint' | 'mark'>;

/** Returns an entry that leads to a view. */
function link(shown: Shown, parts: readonly string[], params: Record<string, string> = {}): Entry {
  return { ...shown, act: () => go(href(parts, params)) };
}
