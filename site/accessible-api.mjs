// A plugin of typedoc: gives its pages a main part, headings without gaps, and headings of sections without a link inside
// of a control. Screen readers need all three, and axe-core reports them.
import { PageEvent } from 'typedoc';

export function load(app) {
  app.renderer.on(PageEvent.END, (page) => {
    if (!page.contents?.includes('class="col-content"')) return;
    page.contents = orderHeadings(page.contents)
      .replace('<div class="col-content">', '<div class="col-content" role="main">')
      .replace('<div class="page-menu"', '$& role="navigation" aria-label="On this page"')
      .replace('<nav id="tsd-sidebar-links"', '$& aria-label="Site"')
      .replace(/<summary[^]*?<\/summary>/g, (summary) =>
        summary.replace(/<a [^>]*class="tsd-anchor-icon">[^]*?<\/a>/g, ''),
      );
  });
}

/** Raises each heading that would skip a level. */
function orderHeadings(html) {
  let level = 0;
  return html.replace(/<h([1-6])([^>]*)>([^]*?)<\/h\1>/g, (_, found, attributes, text) => {
    level = Math.min(Number(found), level + 1);
    return `<h${level}${attributes} data-was="h${found}">${text}</h${level}>`;
  });
}
