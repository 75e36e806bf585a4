// A shape and a colour for each state of a job, so that neither is the only sign.
import { setText } from './dom.js';

const NS = 'http://www.w3.org/2000/svg';
const PATHS = {
  waiting: 'M10 3.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z',
  later: 'M10 3.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM10 6.5V10l2.5 2',
  completed: 'm4 10.5 4 4 8-9',
  failed: 'm5 5 10 10M15 5 5 15',
};
/** The circumference of the ring, see `circle` below. */
const AROUND = 2 * Math.PI * 8;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function shapeOf(status) {
  return svg(
    'svg',
    { viewBox: '0 0 20 20', class: 'shape', 'aria-hidden': 'true' },
    svg('path', { d: PATHS[status] }),
  );
}

/** Draws a zigzag across a lane. */
export function crack() {
  const points = '12,0 4,25 13,48 3,74 10,100';
  const box = { viewBox: '0 0 16 100', preserveAspectRatio: 'none', class: 'crack', 'aria-hidden': 'true' };
  return svg('svg', box, svg('polyline', { points }));
}

/** Draws a claim: full when it begins, empty when it expires, full again at each heartbeat. */
export function claimRing() {
  const circle = (name) => svg('circle', { cx: 10, cy: 10, r: 8, class: name });
  const left = circle('left');
  left.style.strokeDasharray = String(AROUND);
  const number = svg('text', { x: 10, y: 10 });
  const box = { viewBox: '0 0 20 20', class: 'ring', 'aria-hidden': 'true' };
  return Object.assign(svg('svg', box, circle('track'), left, number), {
    /** @param share from 0 to 1 */
    draw(share, seconds) {
      left.style.strokeDashoffset = String(AROUND * (1 - share));
      setText(number, String(seconds));
    },
  });
}
