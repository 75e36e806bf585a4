import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Controller, Get, Header, NotFoundException, Param, StreamableFile, UseGuards } from '@nestjs/common';
import { createReadStream } from 'node:fs';
import { LinkGuard } from 'nest-job-queue/dashboard';

const PAGE = fileURLToPath(new URL('../../public/', import.meta.url));
const CHART = dirname(createRequire(import.meta.url).resolve('uplot'));

const OURS =
  'actions.js app.js base.css charts.js claims.js confirm.js crash.css crash.js dialog.css dom.js figures.js focus.js ' +
  'folds.js icon.svg job-dialog.js lists.css lists.js moves.js numbers.js panels.css picture.css picture.js shapes.js ' +
  'story.js';

/** Every file that a browser may load, by name. Other paths are not found. */
const FILES: Record<string, string> = {
  ...Object.fromEntries(OURS.split(' ').map((name) => [name, PAGE])),
  'uPlot.esm.js': CHART,
  'uPlot.min.css': CHART,
};
const TYPES: Record<string, string> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };

/** Nothing from other origins, no inline script, and no frame of other sites around this page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

@Controller()
export class PageController {
  /** Returns the page. The link of the terminal lets a browser in, here and in the dashboard. */
  @Get(['', 'index.html'])
  @UseGuards(LinkGuard)
  @Header('Content-Security-Policy', POLICY)
  @Header('Cache-Control', 'no-cache')
  page(): StreamableFile {
    return new StreamableFile(createReadStream(join(PAGE, 'index.html')), { type: 'text/html; charset=utf-8' });
  }

  @Get('page/:file')
  @Header('Cache-Control', 'no-cache')
  file(@Param('file') name: string): StreamableFile {
    const folder = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (folder === undefined) throw new NotFoundException(`No file ${name}.`);
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    return new StreamableFile(createReadStream(join(folder, name)), { type });
  }
}
