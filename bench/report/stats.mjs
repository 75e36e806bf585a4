// Order statistics of small samples.

export function quantile(values, q) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  return below + (above - below) * (at - Math.floor(at));
}

export function median(values) {
  return quantile(values, 0.5);
}

/** Returns half the distance between the best and the worst run, as a share of the median. */
export function spread(values) {
  const middle = median(values);
  return middle ? (Math.max(...values) - Math.min(...values)) / 2 / middle : null;
}
