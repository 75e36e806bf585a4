// Makes CommonJS of TypeScript, and of the ES modules of NestJS 12.
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const ts = require('typescript');

const version = readFileSync(__filename, 'utf8');

const compilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  esModuleInterop: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  inlineSourceMap: true,
  allowJs: true,
};

module.exports = {
  getCacheKey: (text, fileName) => createHash('sha1').update(version).update(fileName).update(text).digest('hex'),
  process(text, fileName) {
    const { outputText } = ts.transpileModule(text, { compilerOptions, fileName });
    const own = 'require(`node:url`).pathToFileURL(__filename).href';
    return { code: fileName.endsWith('.js') ? outputText.replaceAll('import.meta.url', own) : outputText };
  },
};
