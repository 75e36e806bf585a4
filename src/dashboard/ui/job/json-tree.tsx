import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count, spelled } from '../parts/format.js';
import { cut } from '../../../queue/runtime/cut.js';

const OPEN_DEPTH = 2;
const SHOWN_ITEMS = 100;
const SHOWN_TEXT = 500;

/** Shows a value as a tree, folded from the third level on. Everything in it is text, whatever it looks like. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div class="tree">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const label = name === undefined ? null : <bdi class="tree-key">{spelled(name)}</bdi>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="tree-leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div class="tree-leaf">
        {label}
        <span class="quiet">{Array.isArray(value) ? 'empty list' : 'empty object'}</span>
      </div>
    );
  }
  return <Branch label={label} size={size} entries={entries} depth={depth} />;
}

interface BranchProps {
  label: ComponentChildren;
  size: string;
  entries: readonly [string, unknown][];
  depth: number;
}

function Branch({ label, size, entries, depth }: BranchProps) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(SHOWN_ITEMS);
  return (
    <details class="tree-branch" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="quiet">{size}</span>
      </summary>
      {open &&
        entries.slice(0, shown).map(([key, each]) => <Node key={key} name={key} value={each} depth={depth + 1} />)}
      {open && entries.length > shown && (
        <button type="button" class="link" onClick={() => setShown(shown * 10)}>
          Show more of {count(entries.length)}
        </button>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') {
    return <span class={`tree-${value === null ? 'null' : typeof value}`}>{String(value)}</span>;
  }
  const long = value.length > SHOWN_TEXT;
  return (
    <>
      <span class="tree-quoted">
        <bdi class="tree-string">{spelled(whole ? value : cut(value, SHOWN_TEXT))}</bdi>
      </span>
      {long && (
        <button type="button" class="link" onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show all ${count(value.length)} characters`}
        </button>
      )}
    </>
  );
}
