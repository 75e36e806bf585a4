// The handler of thread-json.mjs. Its values have a form of their own in JSON.
class Money {
  #sum = 5;
  toJSON() {
    return this.#sum;
  }
}

export default async (job) => {
  await job.checkpoint({ at: new Money() });
  return { price: new Money(), url: new URL('http://a/b') };
};
