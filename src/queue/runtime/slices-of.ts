/** Cuts items into slices of about equal length, as few as possible. No slice has more than `most` items. */
export function slicesOf<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  const length = Math.ceil(items.length / count);
  return Array.from({ length: count }, (_, i) => items.slice(i * length, (i + 1) * length));
}
