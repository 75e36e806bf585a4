// The search of the site. VitePress sends these functions to the browser as text, so each is complete in itself.

/** Returns a word as the index has it: small, in the singular. Returns null for a word without a meaning of its own. */
function processTerm(term) {
  const word = term.toLowerCase();
  if (/^(?:a|an|and|are|as|at|by|do|does|for|from|how|i|in|is|it|my|of|on|or|the|to|with)$/.test(word)) return null;
  return word.replace(/ies$/, 'y').replace(/([^su])s$/, '$1');
}

/** Returns the weight of a section. Tables name every word and explain none; overviews repeat the page of the subject. */
function boostDocument(id) {
  if (/\/(?:combinations|comparison|errors|from-bullmq|options|performance|proof)(?:\.html)?#/.test(id)) return 0.4;
  return /\/(?:choosing|guide)(?:\.html)?#/.test(id) ? 0.7 : 1;
}

export const SEARCH = {
  provider: 'local',
  options: {
    detailedView: true, // results with excerpts
    miniSearch: {
      options: { processTerm },
      searchOptions: {
        boostDocument,
        boost: { title: 4, titles: 1.5, text: 1 },
        // Short words begin too many others.
        prefix: (term) => term.length > 2,
        fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
      },
    },
  },
};
