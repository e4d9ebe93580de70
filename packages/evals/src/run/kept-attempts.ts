import type { AttemptRecord } from "../results.ts";

/** What a store has of an eval, a page at a time: waiting for each attempt would cost more than reading it. */
export class KeptAttempts implements AsyncIterable<AttemptRecord> {
  readonly pages: () => AsyncIterable<readonly AttemptRecord[]>;

  constructor(pages: () => AsyncIterable<readonly AttemptRecord[]>) {
    this.pages = pages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AttemptRecord> {
    for await (const page of this.pages()) yield* page;
  }
}

/** The attempts of any store, in pages. */
export function pagesOf(finished: AsyncIterable<AttemptRecord>): AsyncIterable<readonly AttemptRecord[]> {
  // Not `instanceof`: the store may come from another copy of the package.
  return "pages" in finished ? (finished as KeptAttempts).pages() : onePageEach(finished);
}

async function* onePageEach(finished: AsyncIterable<AttemptRecord>): AsyncGenerator<readonly AttemptRecord[]> {
  for await (const record of finished) yield [record];
}
