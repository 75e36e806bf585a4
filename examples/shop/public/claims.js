// The rings of the claims, between two snapshots: they drain by the clock, and fill when a heartbeat came.
const calm = matchMedia('(prefers-reduced-motion: reduce)');
/** A claim that lasts so much longer than was known has been extended. */
const EXTENDED_MS = 400;
const FILL_MS = 300;

const rings = new Set();
let lasts = 5_000;
let frame;

/** Sets how long an extended claim lasts. */
export function claimLasts(ms) {
  lasts = ms;
}

/** Sets the remaining time of the claim that a ring shows. undefined hides the ring. */
export function setClaim(ring, leftMs) {
  ring.style.visibility = leftMs === undefined ? 'hidden' : '';
  if (leftMs === undefined) {
    ring.endsAt = undefined;
    return void rings.delete(ring);
  }
  const now = performance.now();
  const endsAt = now + Math.max(0, leftMs);
  const known = ring.endsAt;
  if (known !== undefined && endsAt - known > EXTENDED_MS)
    Object.assign(ring, { filledAt: now, filledFrom: shareOf(ring, now) });
  // Snapshots come late, never early, so a small difference is ignored: the ring must not jump back and forth.
  if (known === undefined || Math.abs(endsAt - known) > 100) ring.endsAt = endsAt;
  ring.classList.toggle('out', leftMs <= 0);
  ring.classList.toggle('low', leftMs > 0 && leftMs < lasts / 2);
  rings.add(ring);
  if (calm.matches) draw(ring, now);
  else frame ??= requestAnimationFrame(drawAll);
}

function shareOf({ endsAt, filledAt, filledFrom }, now) {
  const share = Math.min(1, Math.max(0, (endsAt - now) / lasts));
  if (filledAt === undefined || now - filledAt > FILL_MS) return share;
  return filledFrom + ((share - filledFrom) * (now - filledAt)) / FILL_MS;
}

function draw(ring, now) {
  ring.draw(shareOf(ring, now), Math.ceil(Math.max(0, ring.endsAt - now) / 1_000));
}

function drawAll(now) {
  frame = undefined;
  for (const ring of rings) {
    if (ring.isConnected) draw(ring, now);
    else rings.delete(ring);
  }
  if (rings.size > 0) frame = requestAnimationFrame(drawAll);
}
