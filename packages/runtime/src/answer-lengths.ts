// How long answers are, and how long a model lets them be.
/** Tokens: no model in use answers with more, so that a limit above it would limit nothing. */
export const longestAnswer = 131_072;

/** Tokens that are kept free for an answer whose length is neither bounded nor estimated. */
export const usualAnswer = 16_384;

/** The models with the shortest answers stop here; who refuses an even smaller limit takes none at all. */
const shortestMaximum = 4_096;

/** The limits of an answer that a model takes, as far as it has shown. */
export interface OutputLimits {
  takes(tokens: number): boolean;
  /**
   * Records that the model refused a request with this limit and took it without one: the model's own maximum is lower.
   */
  refused(tokens: number): void;
}

export function outputLimits(): OutputLimits {
  let refusedFrom: number = longestAnswer;
  return {
    takes: (tokens) => tokens < refusedFrom,
    refused(tokens) {
      refusedFrom = Math.min(refusedFrom, tokens < shortestMaximum ? 0 : tokens);
    },
  };
}
