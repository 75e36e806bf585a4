import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core';
import { useEffect, useRef, useState } from 'preact/hooks';

const ROW_HEIGHT = 36;
const PHONE_ROW_HEIGHT = 60;

/** Returns the rows of a long list that are in view, for an element that scrolls. */
export function useVirtualRows(count: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const narrow = matchMedia('(max-width: 700px)').matches;
  const size = narrow ? PHONE_ROW_HEIGHT : ROW_HEIGHT;
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => size,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((n) => n + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => virtualizer.measure(), [size]); // a phone was turned, or a window made narrow
  useEffect(() => {
    virtualizer._willUpdate();
  });
  const items: VirtualItem[] = virtualizer.getVirtualItems();
  return { scroller, items, height: virtualizer.getTotalSize() };
}
