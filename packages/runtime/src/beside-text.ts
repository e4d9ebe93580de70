import type { PromptResponse } from "@proviso/core";

interface BesideText<F> extends Pick<PromptResponse<unknown>, "reasoning" | "sources" | "logprobs" | "serviceTier"> {
  readonly files?: readonly F[];
}

type MayBeside<F> = { readonly [Name in keyof BesideText<F>]: BesideText<F>[Name] | undefined };

/** What `besideText` returns where an answer is its text alone. */
export const nothingBeside = Object.freeze({});

/** Returns what an answer has beside its text, as its event and the response show it: only what there is. */
export function besideText<F>({ serviceTier, reasoning, sources, files, logprobs }: MayBeside<F>): BesideText<F> {
  if ((reasoning ?? sources ?? files ?? logprobs ?? serviceTier) === undefined) return nothingBeside;
  return {
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(files === undefined ? {} : { files }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}
