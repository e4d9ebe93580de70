import { isRecord } from "@proviso/core/provider";

/** What a client names, and what it gives to it. */
export interface SentParams {
  readonly name: string;
  /** Every key that was sent is there, `__proto__` too: who reads them refuses what may not be. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The params of a call as the client sent them, for the SDK's `setRequestHandler`. Its own schema drops the key `__proto__`
 * of the arguments without a word, and another call than the client asked for would be made.
 */
export const sentParams = {
  "~standard": {
    version: 1,
    vendor: "proviso",
    validate(value: unknown): { readonly value: SentParams } | { readonly issues: readonly { message: string }[] } {
      const { name, arguments: given } = isRecord(value) ? value : {};
      if (typeof name !== "string") return { issues: [{ message: "name must be a text" }] };
      if (given !== undefined && !isRecord(given)) return { issues: [{ message: "arguments must be an object" }] };
      return { value: { name, arguments: given } };
    },
    types: undefined as { readonly input: unknown; readonly output: SentParams } | undefined,
  },
} as const;
