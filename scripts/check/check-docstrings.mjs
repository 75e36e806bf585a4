// Checks docstrings as editors show them: every public symbol and member has one, which is shown whole.
import ts from 'typescript';

/** An editor cuts a docstring off at any other word after " @": write \@Module, or use backticks. */
const TAGS = new Set(['throws', 'param', 'example', 'returns', 'internal', 'default', 'deprecated', 'template']);

/**
 * Returns the wrong tags in a file's docstrings.
 *
 * @param file a ts.SourceFile
 */
export function strangeTags(file) {
  const problems = [];
  const visit = (node) => {
    for (const { tagName } of ts.getJSDocTags(node)) {
      if (tagName.parent.parent.parent !== node || TAGS.has(tagName.text)) continue;
      const { line } = file.getLineAndCharacterOfPosition(tagName.pos);
      problems.push(
        `${file.fileName}:${line + 1}: an editor takes @${tagName.text} for a tag; write \\@${tagName.text}.`,
      );
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return problems;
}

/**
 * Returns the symbols and members of an API report that have no docstring.
 *
 * @param report the text of a report of api-extractor
 */
export function undocumented(report) {
  const lines = report.split('\n');
  let owner = '';
  return lines.flatMap((line, i) => {
    if (/^\w/.test(line)) owner = line.replace(/[<({=].*/, '').trim();
    if (!line.trim().startsWith('//') || !line.includes('(undocumented)')) return [];
    const symbol = lines[i + 1].trim().replace(/[;{]$/, '');
    return [`${line.startsWith(' ') ? `${owner}: ` : ''}${symbol} has no docstring.`];
  });
}
