// The global fetch, and what is put around it, for the option `fetch`: checked by `pnpm typecheck`, and with the DOM's types
// by ../fetch-types.test.ts.
import { openai } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";

const key = { model: "m", apiKey: "sk-1234567890" };
const traced: typeof fetch = (input, init) => fetch(input, init);
const narrow = (url: string | URL | Request, init?: RequestInit): Promise<Response> => fetch(url, init);

export const adapters = [
  openai({ ...key, fetch }),
  openai({ ...key, fetch: globalThis.fetch }),
  openai({ ...key, fetch: traced }),
  openai({ ...key, fetch: narrow }),
  openai({ ...key, fetch: (input, init) => fetch(input, init) }),
  openai({ ...key, fetch: async (input, init) => fetch(new Request(input, init)) }),
  openai({ ...key, fetch: leanFetch() }),
];
