// Where a run of some measures writes its figures, its plots and its page.
import { fileURLToPath } from 'node:url';

/**
 * Returns the places of a run. A whole run renews the docs. Any other run writes into bench/results.
 *
 * @param options those of the command line
 * @param path returns the whole path of a name that a user gave
 * @param figures the name of its file of figures
 * @param page the page of docs that shows them
 */
export function placesOf({ quick, only, json, plots }, path, { figures, page }) {
  const isWhole = !quick && !only;
  const docs = (name) =>
    fileURLToPath(new URL(`${isWhole ? '../../docs' : '../results'}/${name}`, import.meta.url));
  return {
    json: json ? path(json) : docs(`${isWhole ? 'internals/figures/' : ''}${figures}`),
    plots: plots ? path(plots) : docs('images'),
    page: isWhole && !json ? docs(page) : undefined,
  };
}
