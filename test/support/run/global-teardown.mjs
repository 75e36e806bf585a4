export default async function globalTeardown() {
  await globalThis.testRedis?.stop();
  globalThis.testFolder?.close();
}
