// What a run has to say beside the new text.

/** The page that each finding links to. */
export const PAGE = 'https://github.com/nest-job-queue/nest-job-queue/blob/main/docs/from-bullmq.md';

/** A section of the page. */
export type Section = 'watch-out-for-these' | 'the-parts' | 'from-nestjsbull' | 'calls' | 'options' | 'the-codemod';

/**
 * `converted` has a new form. `noted` has one too, with a difference that is worth a look. `left` needs a hand and has a TODO.
 * `dropped` has no counterpart and needs none.
 */
export interface Finding {
  outcome: 'converted' | 'noted' | 'left' | 'dropped';
  file: string;
  line: number;
  text: string;
  link?: string;
}

export class Findings {
  readonly list: Finding[] = [];

  add(finding: Finding): void {
    const isKnown = this.list.some(
      (each) => each.file === finding.file && each.line === finding.line && each.text === finding.text,
    );
    if (!isKnown) this.list.push(finding);
  }
}
