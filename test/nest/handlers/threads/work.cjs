// A CommonJS module as TypeScript compiles it from an ES module.
Object.defineProperty(exports, '__esModule', { value: true });
exports.default = (job) => `CommonJS did ${job.payload}`;
