// Cards that change their place slide there, instead of being somewhere else of a sudden.
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const MS = 240;
/** The time of a move with a stop on the way. */
const DETOUR_MS = 1_100;

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
  const stop = from.zone !== to.zone ? stopOf(from.zone, to.zone) : undefined;
  if (!stop && Math.hypot(from.x - to.x, from.y - to.y) < 2) return;
  const by = ({ x, y }) => `${x - to.x}px ${y - to.y}px`;
  const start = { translate: by(from), zIndex: 1 };
  const end = { translate: '0 0', zIndex: 1 };
  if (!stop) return void card.animate([start, end], { duration: MS, easing: 'ease-in-out' });
  const there = { translate: by(stop), zIndex: 1 };
  card.animate([start, { ...there, offset: 0.3 }, { ...there, offset: 0.7 }, end], {
    duration: DETOUR_MS,
    easing: 'ease-in-out',
  });
}

function placeOf(card) {
  const { x, y } = card.getBoundingClientRect();
  return { x, y, zone: card.parentElement };
}
