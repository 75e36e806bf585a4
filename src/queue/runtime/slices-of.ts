/** Cuts items into as few slices of at most so many as it takes. The slices are about as long as one another. */
export function slicesOf<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  const length = Math.ceil(items.length / count);
  return Array.from({ length: count }, (_, i) => items.slice(i * length, (i + 1) * length));
}
