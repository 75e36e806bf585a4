/** Returns the kept array if it has the same elements, else the new one. So what was built for the kept array stays valid. */
export function keptArray<Element>(
  kept: readonly Element[] | undefined,
  now: readonly Element[],
): readonly Element[] {
  return kept?.length === now.length && now.every((element, i) => element === kept[i]) ? kept : now;
}
