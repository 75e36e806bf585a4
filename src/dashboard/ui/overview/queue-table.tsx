import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { OverviewView, QueueView, QueueVerdictView, VerdictView } from '../../views/views.js';
import { count, duration, percent, plural, rate } from '../parts/format.js';
import { Name, Notice, Sentence, Spark, VerdictMark } from '../parts/parts.js';
import { go, href, route, setParams } from '../state/route.js';
import { RemedyAction } from '../steer/remedy.js';
import { inOrder, selected, sorted, type SortKey } from './queue-order.js';

/** A column: its head, the figure that it sorts by, and where it is left out. */
interface Column {
  text: string;
  sort?: SortKey;
  minor?: true;
  /** Only where figures of the last hour are recorded. */
  ofHour?: true;
  /** The rest of the name for screen readers. */
  hidden?: string;
}

const COLUMNS: readonly Column[] = [
  { text: 'Waiting', sort: 'waiting' },
  { text: 'Oldest', sort: 'oldest' },
  { text: 'Drains', minor: true },
  { text: 'Running', sort: 'running' },
  { text: 'In/s', sort: 'in', minor: true },
  { text: 'Out/s', sort: 'out', minor: true },
  { text: 'Wait p95', sort: 'wait', ofHour: true, hidden: ' of the last hour' },
  { text: 'Run p95', sort: 'run', ofHour: true, hidden: ' of the last hour' },
  { text: 'Failed, 1 h', sort: 'failed', ofHour: true },
  { text: 'Dead', sort: 'dead' },
];

/** Shows the queues of the app in one table, and below it the others of the same Redis. */
export function QueueTable({ queues, unreadable, shards, outbox }: QueueTableProps) {
  const { params } = route.value;
  const [text, only, sort] = [params.get('q') ?? '', params.get('only'), params.get('sort')];
  const held = useRef<string[] | null>(null);
  const isOver = useRef(false);
  const found = sorted(selected(queues, text, only), sort);
  const isOpen = ({ name, shards: has }: QueueVerdictView) => has !== undefined && name === params.get('shards');
  const shardsOf = ({ shards: names = [] }: QueueVerdictView) =>
    names.flatMap((name) => shards.find((shard) => shard.name === name) ?? []);
  const ordered = held.current ? inOrder(found, held.current) : found;
  const broken = selected(unreadable, text, only);
  const hasOutbox = outbox !== null && selected([{ name: 'outbox', verdict: outbox }], text, only).length > 0;
  const hasHistory = queues.some(({ lastHour }) => lastHour !== null);
  const columns = COLUMNS.filter(({ ofHour }) => hasHistory || !ofHour);
  const minor = columns.filter((column) => column.minor).length;
  // The columns beside the name. A narrow window hides the minor ones, so they have a cell of their own.
  const width = columns.length - minor + (hasHistory ? 1 : 0);
  const rest = <td class="minor" colSpan={minor} />;
  const row = (queue: QueueView | QueueVerdictView, whole?: QueueVerdictView) => {
    const props = {
      key: whole ? `${whole.name} ${queue.name}` : queue.name,
      isShard: whole !== undefined,
      isOpen: isOpen(queue),
    };
    return 'depths' in queue ? (
      <QueueRow {...props} queue={queue} hasHistory={hasHistory} />
    ) : (
      <Row {...props} queue={queue}>
        <td colSpan={width} />
        {rest}
      </Row>
    );
  };
  const rows = (areOthers: boolean, head?: ComponentChild) => {
    const all = [
      ...ordered.filter(({ isOther = false }) => isOther === areOthers),
      ...broken.filter(({ isOther = false }) => isOther === areOthers),
    ].flatMap((queue) => [row(queue), ...(isOpen(queue) ? shardsOf(queue).map((shard) => row(shard, queue)) : [])]);
    return Array.from({ length: Math.ceil(all.length / SLICE) }, (_, i) => (
      <RowSlice
        key={i}
        isNear={!areOthers && i === 0}
        isWhole={ordered.length + broken.length <= MOST_WHOLE}
        head={i === 0 && head}
        rows={all.slice(i * SLICE, (i + 1) * SLICE)}
      />
    ));
  };
  // The rows stand still below the pointer. They do so for a keyboard too, because a row that moves loses the focus.
  const hold = () => {
    const isHeld = isOver.current || document.activeElement?.matches('.queues tbody :focus-visible');
    held.current = isHeld ? ordered.map(({ name }) => name) : null;
  };
  if (ordered.length + broken.length === 0 && !hasOutbox) {
    return (
      <Notice title="No queue matches.">
        <button type="button" class="link" onClick={() => setParams({ q: null, only: null })}>
          Show all {queues.length + unreadable.length} queues
        </button>
      </Notice>
    );
  }
  return (
    <div
      class="scroller"
      role="region"
      aria-label="Queues"
      onPointerEnter={({ pointerType }) => {
        isOver.current = pointerType === 'mouse';
        hold();
      }}
      onPointerLeave={() => {
        isOver.current = false;
        hold();
      }}
      onFocusIn={hold}
      onFocusOut={hold}
    >
      <table class="queues">
        <thead>
          <tr>
            <Head column={{ text: 'Queue', sort: 'name' }} sort={sort} release={() => (held.current = null)} />
            {hasHistory && (
              <th scope="col" class="flow">
                Flow, 1 h
              </th>
            )}
            {columns.map((column) => (
              <Head key={column.text} column={column} sort={sort} number release={() => (held.current = null)} />
            ))}
          </tr>
        </thead>
        {rows(false)}
        {hasOutbox && (
          <tbody>
            <OutboxRow outbox={outbox} width={width}>
              {rest}
            </OutboxRow>
          </tbody>
        )}
        {rows(
          true,
          <tr class="section">
            <th scope="rowgroup" colSpan={width + 1}>
              Other queues of this Redis <span class="quiet">that this app does not know</span>
            </th>
            {rest}
          </tr>,
        )}
      </table>
    </div>
  );
}

type QueueTableProps = Pick<OverviewView, 'queues' | 'unreadable' | 'shards' | 'outbox'>;

/** The rows of a slice, and the height of each before it was shown, in px. */
const SLICE = 25;
const ROW_PX = 56;
/** A table of so many rows is shown as a whole, so that the browser finds words in it. */
const MOST_WHOLE = 60;

interface SliceProps {
  rows: readonly ComponentChild[];
  head: ComponentChild;
  isNear: boolean;
  isWhole: boolean;
}

/** Shows some rows of the table. While they are far from the window, one empty row is as high as all of them. */
function RowSlice({ rows, head, isNear, isWhole }: SliceProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [height, setHeight] = useState(isNear ? null : rows.length * ROW_PX);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        const { isIntersecting, boundingClientRect } = entries.at(-1)!;
        setHeight((known) => (isIntersecting ? null : (known ?? boundingClientRect.height)));
      },
      { rootMargin: '400px' },
    );
    observer.observe(body.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <tbody ref={body}>
      {head}
      {isWhole || height === null ? rows : <tr class="far" aria-hidden="true" style={{ height: `${height}px` }} />}
    </tbody>
  );
}

/** Shows how the rows of committed transactions reach their queues. */
function OutboxRow({ outbox, width, children }: OutboxRowProps) {
  return (
    <tr data-row class={`row-${outbox.severity} outbox`}>
      <th scope="row">
        <VerdictMark {...outbox} />
        <a href={href(['outbox'])}>Outbox</a> <span class="quiet">of transactions</span>
      </th>
      <td colSpan={width}>
        <Sentence text={outbox.sentence.replace(/^The outbox /, '')} /> <RemedyAction verdict={outbox} />
      </td>
      {children}
    </tr>
  );
}

interface OutboxRowProps {
  outbox: VerdictView;
  width: number;
  children: ComponentChildren;
}

/** Shows the head of a column. A click sorts by it, and a second one sorts by the worst again. */
function Head({ column: { text, sort: key, minor, hidden }, sort, number, release }: HeadProps) {
  const isSorted = key !== undefined && key === sort;
  const kinds = [number && 'number', minor && 'minor'].filter(Boolean).join(' ');
  return (
    <th scope="col" class={kinds} aria-sort={isSorted ? (key === 'name' ? 'ascending' : 'descending') : undefined}>
      {key === undefined ? (
        text
      ) : (
        <button
          type="button"
          class="sort"
          title={isSorted ? 'Sort by the worst first' : `Sort by ${text}`}
          onClick={() => {
            release();
            setParams({ sort: isSorted ? null : key });
          }}
        >
          {text}
          {hidden && <span class="hidden">{hidden}</span>}
          {isSorted && <span aria-hidden="true"> {key === 'name' ? '▲' : '▼'}</span>}
        </button>
      )}
    </th>
  );
}

interface HeadProps {
  column: Column;
  sort: string | null;
  number?: boolean;
  /** Lets the rows move again. */
  release(): void;
}

function QueueRow({ queue, hasHistory, ...place }: RowPlace & { queue: QueueView; hasHistory: boolean }) {
  const { name, depths, verdict, rates, lastHour, pausedAt, shards } = queue;
  return (
    <Row {...place} queue={queue} tag={pausedAt === null ? undefined : 'paused'}>
      {hasHistory && (
        <td class="flow" data-label="Flow, 1 h">
          <Spark values={queue.spark} label={`Jobs of the last hour of ${name}`} />
        </td>
      )}
      <Figure label="Waiting" text={count(depths.pending)} loud={verdict.severity === 'critical'} />
      <Figure label="Oldest" text={depths.pending > 0 ? duration(queue.oldestPendingAgeMs) : '–'} />
      <Figure label="Drains" text={queue.drains ?? '–'} loud={queue.drains === 'never'} minor />
      <Figure label="Running" text={count(depths.processing)} />
      <Figure label="In/s" text={rate(rates?.inPerS)} minor />
      <Figure label="Out/s" text={rate(rates?.outPerS)} minor />
      {hasHistory && (
        <>
          <Figure
            label="Wait p95"
            text={duration(lastHour?.waitMs.p95)}
            title={`half of the jobs waited ${duration(lastHour?.waitMs.p50)} or less`}
          />
          <Figure
            label="Run p95"
            text={duration(lastHour?.runMs.p95)}
            title={`half of the jobs ran ${duration(lastHour?.runMs.p50)} or less`}
          />
          <Figure label="Failed, 1 h" text={percent(lastHour?.failureRate)} kept />
        </>
      )}
      <td class="number" data-label="Dead">
        {depths.failed > 0 && !shards ? (
          <a href={href(['queue', name], { state: 'failed' })} title={plural(depths.failed, 'dead letter')}>
            {count(depths.failed)}
          </a>
        ) : (
          count(depths.failed)
        )}
      </td>
    </Row>
  );
}

/** Shows a row that opens the page of its queue. The row of a queue with shards opens their rows below it. */
function Row({ queue: { name, verdict, shards }, isShard, isOpen, tag, children }: RowProps) {
  const link = href(['queue', name]);
  const act = shards ? () => setParams({ shards: isOpen ? null : name }) : () => go(link);
  const open = (event: MouseEvent) => {
    if (!(event.target as Element).closest('a, button') && !getSelection()?.toString()) {
      act();
    }
  };
  return (
    <tr data-row data-queue={name} class={`row-${verdict.severity} ${isShard ? 'shard' : ''}`} onClick={open}>
      <th scope="row">
        <VerdictMark {...verdict} />
        {shards ? (
          <>
            <button type="button" class="row-link" aria-expanded={isOpen} onClick={act}>
              <Name text={name} /> <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
            </button>
            <a class="quiet" href={href(['spread', name])} aria-label={`All ${shards.length} shards of ${name}`}>
              {shards.length} shards
            </a>
          </>
        ) : (
          <a class="row-link" href={link}>
            <Name text={name} />
          </a>
        )}
        {tag && <span class="tag">{tag}</span>}
        {verdict.severity !== 'ok' && (
          <span class="row-verdict" title={verdict.sentence.replaceAll('`', '')}>
            <Sentence text={verdict.sentence.replace(/^`[^`]*` is /, '')} />
          </span>
        )}
      </th>
      {children}
    </tr>
  );
}

/** The place of a row. */
interface RowPlace {
  /** True for the row of a shard, below that of its queue. */
  isShard: boolean;
  /** True if the rows of its shards are below it. */
  isOpen: boolean;
}

interface RowProps extends RowPlace {
  queue: QueueVerdictView;
  tag?: string | undefined;
  children: ComponentChildren;
}

/** Shows one figure of a queue. Cards leave out minor ones, and unknown ones that are not kept. */
function Figure({ label, text, loud = false, minor = false, kept = false, title }: FigureProps) {
  const kinds = ['number', loud && 'loud', minor && 'minor', text === '–' && !kept && 'unknown'];
  return (
    <td class={kinds.filter(Boolean).join(' ')} data-label={label} title={text === '–' ? undefined : title}>
      {text}
    </td>
  );
}

interface FigureProps {
  label: string;
  text: string;
  loud?: boolean;
  minor?: boolean;
  kept?: boolean;
  title?: string;
}
