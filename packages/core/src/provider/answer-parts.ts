/** What an answer rests on. Plain JSON. */
export interface Source {
  /** Whether it is a page or a document. */
  readonly kind: "url" | "document";
  /** The address of a page. */
  readonly url?: string | undefined;
  /** What it is called. */
  readonly title?: string | undefined;
  /** The name of a document's file. */
  readonly fileName?: string | undefined;
  /**
   * Where the answer's text refers to it, in UTF-16 offsets: from `start` up to `end`. Left out: the provider does not
   * say.
   */
  readonly at?: { readonly start: number; readonly end: number } | undefined;
}

/** A call that the provider ran itself. Plain JSON. */
export interface ProviderCall {
  /** The id of the call, as the provider names it. */
  readonly callId: string;
  /** The name of the tool: that of the prompt's own declaration where the provider's id fits one. */
  readonly name: string;
  /** What the tool was given. */
  readonly input: unknown;
  /** What it returned. Left out: the provider does not say. */
  readonly output?: unknown;
  /** Whether the call failed. */
  readonly isError: boolean;
}
