/** On a phone the story comes first: what is below it is folded, until somebody opens it. */
export function foldWhereNarrow() {
  if (!matchMedia('(max-width: 760px)').matches) return;
  for (const fold of document.querySelectorAll('.fold')) fold.open = false;
}

// A link to a part that is folded opens it.
for (const link of document.querySelectorAll('a[href^="#"]')) {
  link.addEventListener('click', () => {
    const fold = document.querySelector(link.hash)?.closest('.fold');
    if (fold) fold.open = true;
  });
}
