/** Folds the parts below the story on a phone, so that the story comes first. */
export function foldWhereNarrow() {
  if (!matchMedia('(max-width: 760px)').matches) return;
  for (const fold of document.querySelectorAll('.fold')) fold.open = false;
}

// A link to a folded part opens it.
for (const link of document.querySelectorAll('a[href^="#"]')) {
  link.addEventListener('click', () => {
    const fold = document.querySelector(link.hash)?.closest('.fold');
    if (fold) fold.open = true;
  });
}
