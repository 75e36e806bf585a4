// Cards that change their place slide there, instead of being somewhere else of a sudden.
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const MS = 240;
/** The time of a move with a stop on the way. */
const DETOUR_MS = 1_800;
/** The copies in flight, by job. */
const flights = new Map();

/**
 * Makes a change to where cards are, and slides each from its old place to its new one.
 *
 * @param cards a function that gives the cards there are, each with its `data-job`
 * @param stopOf the place where a card stops on its way between two lists, or undefined
 */
export function sliding(cards, change, stopOf) {
  if (calm.matches || document.hidden) return change();
  const before = new Map(cards().map((card) => [card.dataset.job, placeOf(card)]));
  change();
  for (const card of cards()) slide(card, before.get(card.dataset.job), stopOf);
}

function slide(card, from, stopOf) {
  const to = placeOf(card);
  if (!from)
    return void card.animate(
      [
        { opacity: 0, translate: '0 6px' },
        { opacity: 1, translate: '0 0' },
      ],
      MS,
    );
  const isSameList = from.zone === to.zone;
  if (isSameList && Math.hypot(from.x - to.x, from.y - to.y) < 2) return;
  if (isSameList) {
    const start = { translate: `${from.x - to.x}px ${from.y - to.y}px`, zIndex: 1 };
    return void card.animate([start, { translate: '0 0', zIndex: 1 }], { duration: MS, easing: 'ease-in-out' });
  }
  fly(card, from, to, stopOf(from.zone, to.zone));
}

/**
 * Lets a copy of the card fly above everything, because a lane would cut the card off or cover it. The card itself shows
 * when the copy has arrived.
 */
function fly(card, from, to, stop) {
  const { job } = card.dataset;
  // A card that moves again goes on from where its copy is.
  const earlier = flights.get(job);
  const start = earlier ? placeOf(earlier) : from;
  earlier?.remove();
  const copy = card.cloneNode(true);
  copy.classList.add('flying');
  copy.removeAttribute('data-job');
  copy.inert = true;
  copy.role = 'none'; // it is in no list
  document.querySelector('.picture').append(copy);
  flights.set(job, copy);
  const frames = stop
    ? [frameAt(start), { ...frameAt(stop), offset: 0.22 }, { ...frameAt(stop), offset: 0.74 }, frameAt(to)]
    : [frameAt(start), frameAt(to)];
  const timing = { duration: stop ? DETOUR_MS : MS, easing: 'ease-in-out', fill: 'both' };
  card.animate([{ opacity: 0 }, { opacity: 0 }], timing.duration);
  const land = () => {
    copy.remove();
    if (flights.get(job) === copy) flights.delete(job);
  };
  copy.animate(frames, timing).finished.then(land, land);
}

function placeOf(card) {
  const { x, y, width } = card.getBoundingClientRect();
  return { x, y, width, zone: card.parentElement };
}

/** Returns the frame of a flight at a place. */
function frameAt({ x, y, width }) {
  return { left: `${x + scrollX}px`, top: `${y + scrollY}px`, width: `${width}px` };
}
