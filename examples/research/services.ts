import { openai } from "@proviso/adapter-openai";
import type { ProviderAdapter } from "@proviso/core";
import { fallback } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { simulatedResearcher } from "./simulated-researcher.ts";

/** Who is asked, and what is known of it. */
export interface Services extends AsyncDisposable {
  readonly adapter: ProviderAdapter;
  readonly about: string;
  /** Tokens of the model's window; undefined: the model's own. */
  readonly window: number | undefined;
}

/** Requests that the first simulated service answers before it dies. */
const livesFor = 15;
/** Tokens: a small window, so that the history has to be shortened. */
const smallWindow = 1_500;
/** The best comes first; the second is asked when it fails. */
const models = ["gpt-5.4", "gpt-5.4-mini"];

/** Two models of OpenAI with the key; without one two simulated services, of which the first dies. */
export async function openServices(apiKey: string | undefined): Promise<Services> {
  if (apiKey !== undefined) {
    const adapter = fallback(models.map((model) => openai({ model, apiKey })));
    return { adapter, about: models.join(", then "), window: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  await using opening = new AsyncDisposableStack();
  const rule = simulatedResearcher();
  const start = async (more: Parameters<typeof startSimulator>[0]) => opening.use(await startSimulator(more));
  const dying = await start({
    rules: [
      ({ index }) => (index < livesFor ? undefined : { status: 503, body: { error: { message: "overloaded" } } }),
      rule,
    ],
  });
  const steady = await start({ rules: [rule] });
  const adapters = [dying, steady].map(({ baseURL }, at) =>
    openai({ model: `simulated-${at + 1}`, baseURL, apiKey: "none", maxOutputTokens: 300 }),
  );
  const servers = opening.move();
  return {
    // What is dead stays dead: it is not tried again in this run.
    adapter: fallback(adapters, { breaker: { openMs: 600_000 } }),
    about: `two simulated services; the first dies after ${livesFor} requests`,
    window: smallWindow,
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}
